"""Hashes in 32-bit integers, the same in NumPy, TensorFlow, XLA and TFLite."""

import tensorflow as tf

from kerascompact.core.hash32 import GOLDEN, STEP, int32


def fmix32(numbers: tf.Tensor) -> tf.Tensor:
    """Mixes 32 bits so that each bit of the result depends on all: MurmurHash3's finalizer.

    Args:
        numbers: Numbers to mix, int32 of any shape; products wrap.

    Returns: int32 of the bits that `core.hash32.fmix32` gives.

    >>> fmix32(tf.constant([0, 1, 2])).numpy()
    array([         0, 1364076727,  821347078], dtype=int32)

    Reference: [Appleby, MurmurHash3, 2011](https://github.com/aappleby/smhasher), `fmix32`.
    """
    mixed = tf.bitwise.bitwise_xor(numbers, _logical_shift(numbers, 16)) * int32(0x85EBCA6B)
    mixed = tf.bitwise.bitwise_xor(mixed, _logical_shift(mixed, 13)) * int32(0xC2B2AE35)
    return tf.bitwise.bitwise_xor(mixed, _logical_shift(mixed, 16))


def hash_ids(ids: tf.Tensor, seed: int, buckets: int) -> tf.Tensor:
    """A bucket in `[0, buckets)` for each id, by multiplications that wrap and shifts.

    `fmix32(id * 0x9E3779B1 + seed * 0x7F4A7C15)` modulo the number of buckets.

    Args:
        ids: Ids to hash, int32 of any shape.
        seed: Integer that selects the hash function.
        buckets: Number of buckets.

    >>> hash_ids(tf.constant([0, 1, 2, 3]), seed=1, buckets=10).numpy().tolist()
    [3, 0, 8, 5]
    """
    return tf.math.floormod(fmix32(ids * int32(GOLDEN) + int32(seed * STEP)), buckets)


def _logical_shift(numbers: tf.Tensor, places: int) -> tf.Tensor:
    """Logical right shift, which int32 lacks."""
    bits = tf.bitcast(numbers, tf.uint32)
    return tf.bitcast(tf.bitwise.right_shift(bits, tf.constant(places, tf.uint32)), tf.int32)
