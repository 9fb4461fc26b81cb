"""Fake quantization at 1 to 8 bits, with a gradient that passes through."""

import tensorflow as tf


def step_size(limit: tf.Tensor, bits: int) -> tf.Tensor:
    """The distance `s` of neighbouring values: `2 limit / (2^b - 1)`.

    >>> float(step_size(tf.constant(1.5), bits=2))
    1.0
    """
    # One product: of a product and a quotient, TensorFlow's graphs would make one, which rounds in
    # another way, so that a number between two codes would get another one than outside of graphs.
    return limit * (2.0 / (2**bits - 1))


def quantize(rows: tf.Tensor, limit: tf.Tensor, bits: int) -> tf.Tensor:
    """The codes `q` of numbers: `round(x / s + (2^b - 1) / 2)`, clipped to `[0, 2^b - 1]`.

    The `2^b` values lie evenly in `[-limit, limit]`, ends included; zero is not one of them. With
    one bit they are `-limit` and `limit`.

    Args:
        rows: Numbers `x`, of any shape.
        limit: Largest value, at least 0; broadcasts to `rows`.
        bits: Number of bits `b`.

    Returns: Integers as float32, of the shape of `rows`.

    >>> quantize(tf.constant([-9.0, -1.5, 0.6, 1.5]), tf.constant(1.5), bits=2).numpy().tolist()
    [0.0, 0.0, 2.0, 3.0]

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), eq. 12. Differs: the
    values lie evenly around zero, so that no zero point is stored; theirs include zero.
    """
    most = 2**bits - 1
    # A limit of 0 belongs to rows of zeros: every code gives 0 there.
    steps = tf.math.divide_no_nan(rows, step_size(limit, bits))
    return tf.clip_by_value(tf.round(steps + most / 2), 0.0, float(most))


def fake_quantize(rows: tf.Tensor, limit: tf.Tensor, bits: int) -> tf.Tensor:
    """The values that codes stand for, `s (q - (2^b - 1) / 2)`; the gradient passes through.

    It passes unchanged where `|x| <= limit` and is zero beyond, where a small change of `x` does
    not move the code.

    >>> fake_quantize(tf.constant([-9.0, 0.6]), tf.constant(1.5), bits=2).numpy().tolist()
    [-1.5, 0.5]

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 3.
    """
    return _straight_through(rows, limit, dequantize(quantize(rows, limit, bits), limit, bits))


def dequantize(codes: tf.Tensor, limit: tf.Tensor, bits: int) -> tf.Tensor:
    """The values of float32 codes: `s (q - (2^b - 1) / 2)`.

    >>> dequantize(tf.constant([0.0, 3.0]), tf.constant(1.5), bits=2).numpy().tolist()
    [-1.5, 1.5]
    """
    return step_size(limit, bits) * (codes - (2**bits - 1) / 2)


@tf.custom_gradient
def _straight_through(
    rows: tf.Tensor, limit: tf.Tensor, values: tf.Tensor
) -> tuple[tf.Tensor, object]:
    inside = tf.cast(tf.abs(rows) <= limit, rows.dtype)
    return tf.identity(values), lambda upstream: (upstream * inside, None, None)
