"""Hashes of ids in 32-bit integers, the same in NumPy, TensorFlow, XLA and TFLite."""

import tensorflow as tf


def hash_ids(ids: tf.Tensor, seed: int, buckets: int) -> tf.Tensor:
    """A bucket in `[0, buckets)` for each id, by multiplications that wrap and shifts.

    `x = id * 0x9E3779B1 + seed * 0x7F4A7C15`, mixed by the last steps of MurmurHash3, modulo the
    number of buckets.

    Args:
        ids: int32, any shape.
        seed: A whole number; each gives another function.
        buckets: How many.

    >>> hash_ids(tf.constant([0, 1, 2, 3]), seed=1, buckets=10).numpy().tolist()
    [3, 0, 8, 5]

    Reference: [Appleby, MurmurHash3, 2011](https://github.com/aappleby/smhasher), `fmix32`.
    """
    mixed = ids * _int32(0x9E3779B1) + _int32(seed * 0x7F4A7C15)
    mixed = tf.bitwise.bitwise_xor(mixed, _logical_shift(mixed, 16)) * _int32(0x85EBCA6B)
    mixed = tf.bitwise.bitwise_xor(mixed, _logical_shift(mixed, 13)) * _int32(0xC2B2AE35)
    mixed = tf.bitwise.bitwise_xor(mixed, _logical_shift(mixed, 16))
    return tf.math.floormod(mixed, buckets)


def _logical_shift(numbers: tf.Tensor, places: int) -> tf.Tensor:
    """To the right with zeros from the left, which int32 has not."""
    bits = tf.bitcast(numbers, tf.uint32)
    return tf.bitcast(tf.bitwise.right_shift(bits, tf.constant(places, tf.uint32)), tf.int32)


def _int32(number: int) -> int:
    """The int32 of the same 32 bits."""
    number &= 0xFFFFFFFF
    return number - 2**32 if number >= 2**31 else number
