"""Gumbel-softmax relaxation of a categorical choice."""

from collections.abc import Callable

import keras
import tensorflow as tf

from kerascompact.ops.codes import relaxed_one_hot
from kerascompact.ops.random_bits import random_bits


def gumbel_noise(
    shape: tf.Tensor,
    seed: keras.random.SeedGenerator | int,
    bits: Callable[..., tf.Tensor] = random_bits,
) -> tf.Tensor:
    """Samples of Gumbel(0, 1): `-log(-log(u))`, `u` uniform in (0, 1).

    Args:
        shape: Shape of the result.
        seed: An integer (the same draw at each call) or a `keras.random.SeedGenerator`.
        bits: Source of the bits, `random_bits` or `hashed_bits`.

    >>> gumbel_noise((2, 3), seed=1).shape
    TensorShape([2, 3])
    """
    steps = tf.cast(
        tf.bitwise.right_shift(bits(shape, seed), 9), tf.float32
    )  # 0 ... 2**23 - 1, exact
    uniform = steps * 2.0**-23 + 2.0**-24  # never 0 or 1: noise lies in [-2.82, 16.64]
    return -tf.math.log(-tf.math.log(uniform))


def gumbel_softmax(
    logits: tf.Tensor,
    temperature: tf.Tensor | float,
    seed: keras.random.SeedGenerator | int,
    straight_through: bool = False,
    noise: tf.Tensor | None = None,
    noise_scale: tf.Tensor | float = 1.0,
) -> tf.Tensor:
    """Draws a relaxed one-hot vector from unnormalized log-probabilities.

    `t_j = exp((a_j + s g_j) / tau) / sum_l exp((a_l + s g_l) / tau)`, with `g_j ~ Gumbel(0, 1)`,
    drawn anew for each row.

    The noise scale `s` sets how random the draw is: its largest entry is a sample of
    `softmax(a / s)`, of `softmax(a)` with `s = 1`, and `argmax_j a_j` with `s = 0`. The temperature
    sets how soft it is: as `tau -> 0` it becomes one-hot, equally random. With `straight_through`
    only the gradient depends on the temperature.

    Args:
        logits: Logits `a`, `(..., k)`.
        temperature: Temperature `tau > 0`, a number or a scalar tensor.
        seed: An integer (the same draw at each call) or a `keras.random.SeedGenerator`.
        straight_through: Forward value one-hot at the largest `t_j`, gradient that of `t`.
        noise: Noise `g`, if it is drawn already.
        noise_scale: Scale `s >= 0`, a number or a scalar tensor.

    Returns: `(..., k)` non-negative `float32` that sum to 1 along the last axis.

    >>> float(tf.reduce_sum(gumbel_softmax(tf.zeros((1, 4)), 0.9, seed=1)).numpy().round(5))
    1.0

    Reference: [Jang et al., ICLR 2017](https://arxiv.org/abs/1611.01144), eq. 2;
    [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), sec. 3.
    Differs: the papers have no noise scale, `s = 1`.
    """
    logits = tf.cast(logits, tf.float32)
    if noise is None:
        noise = gumbel_noise(tf.shape(logits), seed)
    return relaxed_one_hot(logits + noise_scale * noise, temperature, straight_through)[0]
