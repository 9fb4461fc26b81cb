"""Numbers in bfloat16: rounding that loses no small update on average."""

from typing import Any

import tensorflow as tf

from kerascompact.ops.random_bits import hashed_bits

UPPER = 0xFFFF0000  # of a float32: the bits that are a bfloat16


def stochastic_bfloat16(values: tf.Tensor, seed: Any) -> tf.Tensor:
    """Rounds float32 to one of its two neighbours in bfloat16, at random, without bias.

    `E[round(x)] = x`: the upper neighbour is taken with probability `(x - lower) / (upper - lower)`
    in steps of `2^-16`. A bfloat16 has 8 bits, so that rounding to the nearest one loses an
    update that is smaller than 1/512 of the number, each time. What is a bfloat16 stays as it is,
    as do infinities and NaN. The noise of number `(i, j)` is `a_i xor b_j`: uniform, and that of
    any two numbers is independent.

    Args:
        values: float32 `(n, k)`.
        seed: A `keras.random.SeedGenerator`, an integer, or two as a tensor `(2,)`; equal integers
            give equal results.

    >>> tf.cast(stochastic_bfloat16(tf.constant([[1.5, -2.0]]), 0), tf.float32).numpy().tolist()
    [[1.5, -2.0]]

    Reference: [Gupta et al., ICML 2015](https://arxiv.org/abs/1502.02551), sec. 3.
    """
    n, k = tf.unstack(tf.shape(values))
    noise = tf.bitwise.right_shift(hashed_bits([n + k], seed), tf.constant(16, tf.uint32))
    noise = tf.bitwise.bitwise_xor(noise[:n, None], noise[n:])
    # NaN of arithmetic, 0x7fc00000, cannot overflow by the addition; infinities keep their bits.
    sums = tf.bitwise.bitwise_and(tf.bitcast(values, tf.uint32) + noise, UPPER)
    return tf.cast(tf.bitcast(sums, tf.float32), tf.bfloat16)


def in_float32(gradient: Any) -> Any:
    """A gradient, as rows or dense, in float32.

    >>> in_float32(tf.constant([1.0], tf.bfloat16)).dtype.name, in_float32(None)
    ('float32', None)
    """
    if not isinstance(gradient, tf.IndexedSlices):
        return None if gradient is None else tf.cast(gradient, tf.float32)
    values = tf.cast(gradient.values, tf.float32)
    return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
