"""Variational dropout: multiplicative noise and its divergence."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.ops.random_bits import random_bits

LIMIT = 10.0  # largest |log(alpha)|, as in the public code of variational vocabulary dropout


def log_uniform_kl(log_alpha: tf.Tensor) -> tf.Tensor:
    """`KL(N(t, alpha t^2) || log-uniform)`, up to a constant: 0 for `alpha -> inf`, never negative.

    `k1 - k1 sigmoid(k2 + k3 log alpha) + 0.5 log(1 + 1 / alpha)`, `k1 = 0.63576`, `k2 = 1.87320`,
    `k3 = 1.48695`: an approximation with an error below 0.009.

    Args:
        log_alpha: Noise-to-signal ratios, of any shape.

    >>> [round(float(kl), 2) for kl in log_uniform_kl(tf.constant([-4.0, 0.0, 10.0]))]
    [2.63, 0.43, 0.0]

    Reference: [Molchanov et al., ICML 2017](https://arxiv.org/abs/1701.05369), eq. 14.
    """
    fitted = 0.63576 * tf.sigmoid(-(1.87320 + 1.48695 * log_alpha))
    return fitted + 0.5 * tf.nn.softplus(-log_alpha)


def log_alpha_of(mean: tf.Tensor, log_variance: tf.Tensor) -> tf.Tensor:
    """`log(sigma^2 / t^2)` of independent normal weights, within `[-10, 10]`.

    >>> log_alpha_of(tf.constant([1.0, 0.0]), tf.constant([-4.0, -4.0])).numpy().round(4).tolist()
    [-4.0, 10.0]

    Reference: [Molchanov et al., ICML 2017](https://arxiv.org/abs/1701.05369), eq. 12.
    """
    return limited(log_variance - tf.math.log(tf.square(mean) + 1e-8))


def limited(log_alpha: tf.Tensor) -> tf.Tensor:
    """`log(alpha)` clipped to [-10, 10], beyond which it gets no gradient.

    >>> limited(tf.constant([-11.0, 3.0])).numpy().tolist()
    [-10.0, 3.0]
    """
    return tf.clip_by_value(log_alpha, -LIMIT, LIMIT)


def normal_noise(shape: Any, seed: keras.random.SeedGenerator | int) -> tf.Tensor:
    """Samples of `N(0, 1)`: `sqrt(-2 log u) cos(2 pi v)`, `u` and `v` uniform in (0, 1).

    >>> normal_noise((2, 3), seed=1).shape
    TensorShape([2, 3])
    """
    both = random_bits(tf.concat([[2], shape], axis=0), seed)
    steps = tf.cast(tf.bitwise.right_shift(both, 9), tf.float32)  # 0 ... 2**23 - 1, exact
    uniform = steps * 2.0**-23 + 2.0**-24  # never 0 or 1: noise is below 5.8
    return tf.sqrt(-2 * tf.math.log(uniform[0])) * tf.cos(2 * 3.14159265 * uniform[1])
