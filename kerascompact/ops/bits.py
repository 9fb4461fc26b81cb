"""Codes of `bits` bits each, one after another in a little-endian stream of bytes.

Code `i` occupies the bits `i * bits ... (i + 1) * bits - 1` of the stream, bit `p` of the stream
being bit `p % 8` of byte `p // 8`. So `n` codes cost exactly `ceil(n * bits / 8)` bytes, whether
or not `bits` divides 8. Reading a code touches at most three bytes and needs GATHER, RIGHT_SHIFT
and FLOOR_MOD on int32 only, all of which are TFLite built-ins (TFLite has no LEFT_SHIFT or
BITWISE_AND; `floormod(x, 2**bits)` masks).
"""

import numpy as np
import tensorflow as tf

from kerascompact.core import checks

MAX_BITS = 16


def pack(codes: np.ndarray, bits: int) -> np.ndarray:
    """Packs non-negative integers below `2**bits` into a byte stream.

    Args:
        codes: Integers in `[0, 2**bits)`, any shape; packed in C order.
        bits: Bits of a code, 1 to 16.

    Returns: `uint8` array of `stream_bytes(codes.size, bits)` bytes.

    Raises: ValueError, if a code does not fit.

    >>> pack(np.array([1, 2, 3]), 4)
    array([33,  3], dtype=uint8)
    """
    bits = checks.integer_in("bits", bits, 1, MAX_BITS)
    codes = checks.ids_below("codes", codes, 2**bits).reshape(-1).astype(np.int64)
    digits = (codes[:, None] >> np.arange(bits)) & 1  # (n, bits), least significant first
    stream = np.packbits(digits.astype(np.uint8).reshape(-1), bitorder="little")
    return np.pad(stream, (0, stream_bytes(codes.size, bits) - stream.size))


def stream_bytes(count: int, bits: int) -> int:
    """Bytes of a stream of `count` codes: `ceil(count * bits / 8)` and what `unpack` reads past it.

    A code that straddles bytes is read with one byte more (`bits <= 9`) or two, so the stream ends
    in as many zero bytes; codes of 1, 2, 4 or 8 bits never straddle and need none.

    >>> stream_bytes(3000, 6), stream_bytes(3000, 8)
    (2251, 3000)
    """
    return -(-count * bits // 8) + _extra_bytes(bits)


def unpack(stream: tf.Tensor, positions: tf.Tensor, bits: int) -> tf.Tensor:
    """Reads the codes at `positions` of a packed stream, without unpacking the rest.

    Args:
        stream: `uint8` bytes from `pack`.
        positions: `int32`, any shape; `positions * bits` must stay below `2**31`.
        bits: Bits of a code, as in `pack`.

    Returns: `int32` codes, of the shape of `positions`.

    >>> unpack(tf.constant(pack(np.array([1, 2, 3]), 4)), tf.constant([2, 0]), 4).numpy()
    array([3, 1], dtype=int32)
    """
    if bits == 8:
        return tf.cast(tf.gather(stream, positions), tf.int32)
    first_bit = positions * bits
    first_byte = tf.bitwise.right_shift(first_bit, 3)
    window = tf.cast(tf.gather(stream, first_byte), tf.int32)
    for extra in range(1, _extra_bytes(bits) + 1):
        window += tf.cast(tf.gather(stream, first_byte + extra), tf.int32) * 256**extra
    window = tf.bitwise.right_shift(window, tf.math.floormod(first_bit, 8))
    return tf.math.floormod(window, 2**bits)


def _extra_bytes(bits: int) -> int:
    if 8 % bits == 0:
        return 0
    return 1 if bits <= 9 else 2  # a window of 16 bits holds any shift (<= 7) plus 9 bits
