"""Sums with 48 bits as pairs of float32 numbers, where float64 is not available."""

import tensorflow as tf


def add(pair: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
    """The sum of a pair and a number, as a pair.

    A pair `(high, low)` stands for `high + low`, where `high` is that sum rounded to float32. One
    addition has a relative error of about `2^-48`; a million of them lose less than one in float32.

    Args:
        pair: Running sum, float32 `(..., 2)`; zeros at the start.
        x: Numbers to add, float32 `(...)`.

    Shapes: `(..., 2)`, `(...)` -> `(..., 2)`.

    >>> pair = add(add(tf.zeros(2), tf.constant(1000.0)), tf.constant(1e-5))
    >>> bool(float(difference(pair, tf.constant([1000.0, 0.0]))) == np.float32(1e-5))
    True

    Reference: [Dekker, Numerische Mathematik 1971](https://doi.org/10.1007/BF01397083), sec. 5.
    """
    high, error = _two_sum(pair[..., 0], x)
    error += pair[..., 1]
    total = high + error
    return tf.stack([total, error - (total - high)], axis=-1)


def difference(pair: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """One pair minus another, rounded once.

    Shapes: `(..., 2)`, `(..., 2)` -> `(...)`.

    >>> left = difference(tf.constant([3.0, 1e-9]), tf.constant([3.0, 0.0]))
    >>> bool(left.numpy() == np.float32(1e-9))
    True
    """
    high, error = _two_sum(pair[..., 0], -other[..., 0])
    return high + (error + (pair[..., 1] - other[..., 1]))


def _two_sum(a: tf.Tensor, b: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """`a + b` rounded, and the exact rounding error (Knuth's six operations)."""
    total = a + b
    of_b = total - a
    return total, (a - (total - of_b)) + (b - of_b)
