"""Dropout masks."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.ops.random_bits import random_bits


def keep_mask(shape: Any, rate: float, seed: keras.random.SeedGenerator | int) -> tf.Tensor:
    """Mask of 0 with probability `rate`, else `1 / (1 - rate)`, so that the mean is 1.

    Args:
        shape: Shape of the mask, numbers or a tensor.
        rate: Share dropped, in `[0, 1)`.
        seed: An integer (the same mask at each call) or a `keras.random.SeedGenerator`.

    >>> mask = keep_mask((1000,), 0.75, seed=1).numpy()
    >>> sorted(set(mask.tolist()))
    [0.0, 4.0]
    """
    steps = tf.cast(tf.bitwise.right_shift(random_bits(shape, seed), 9), tf.float32)
    kept = steps >= rate * 2.0**23  # 0 ... 2**23 - 1, exact
    return tf.cast(kept, tf.float32) / (1.0 - rate)
