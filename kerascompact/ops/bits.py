"""Packing of codes of a few bits each into a little-endian stream of bytes.

Code `i` occupies the bits `i * bits ... (i + 1) * bits - 1` of the stream, bit `p` of the stream
being bit `p % 8` of byte `p // 8`. So `n` codes cost exactly `ceil(n * bits / 8)` bytes, whether
or not `bits` divides 8. Reading a code touches at most three bytes and needs GATHER, RIGHT_SHIFT
and FLOOR_MOD on int32 only, all of which are TFLite built-ins (TFLite has no LEFT_SHIFT or
BITWISE_AND; `floormod(x, 2**bits)` masks).

A row of `length` codes that fills whole bytes is read at once: one gather of its bytes, then
arithmetic with constants. Such a stream needs no byte past its end.
"""

import numpy as np
import tensorflow as tf

from kerascompact.core import checks

MAX_BITS = 16
CHUNK = 2**20  # codes packed at a time, a multiple of 8


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
    codes = checks.ids_below("codes", codes, 2**bits).reshape(-1)
    stream = np.zeros(stream_bytes(codes.size, bits), np.uint8)
    for start in range(0, codes.size, CHUNK):  # the digits of a large table take many bytes each
        chunk = codes[start : start + CHUNK].astype(np.uint16)
        digits = (chunk[:, None] >> np.arange(bits, dtype=np.uint16)) & 1  # least significant first
        packed = np.packbits(digits.astype(np.uint8).reshape(-1), bitorder="little")
        first = start * bits // 8
        stream[first : first + packed.size] = packed
    return stream


def pack_rows(codes: np.ndarray, bits: int) -> np.ndarray:
    """Packs the codes `(rows, length)` of a table for `unpack_rows`.

    The stream is that of `pack`, without the bytes past its end where rows fill whole bytes.

    Returns: `uint8` array of `rows_bytes(rows, length, bits)` bytes.

    >>> pack_rows(np.array([[1, 2], [3, 4]]), 4)
    array([33, 67], dtype=uint8)
    """
    rows, length = np.shape(codes)
    return pack(codes, bits)[: rows_bytes(rows, length, bits)]


def stream_bytes(count: int, bits: int) -> int:
    """Bytes of a stream of `count` codes: `ceil(count * bits / 8)` and what `unpack` reads past.

    A code that straddles bytes is read with one (`bits <= 9`) or two further bytes, so the stream
    ends in as many zero bytes; codes of 1, 2, 4 or 8 bits never straddle and need none.

    >>> stream_bytes(3000, 6), stream_bytes(3000, 8)
    (2251, 3000)
    """
    return -(-count * bits // 8) + _extra_bytes(bits)


def rows_bytes(rows: int, length: int, bits: int) -> int:
    """Bytes of a stream of `rows` times `length` codes that `unpack_rows` reads.

    >>> rows_bytes(3000, 8, 5), rows_bytes(3000, 1, 5)
    (15000, 1876)
    """
    if _fills_bytes(length, bits):
        return rows * length * bits // 8
    return stream_bytes(rows * length, bits)


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


def unpack_rows(stream: tf.Tensor, ids: tf.Tensor, bits: int, length: int) -> tf.Tensor:
    """Reads the rows `ids` of a packed table of `length` codes each.

    Row `i` holds the codes `i * length ... (i + 1) * length - 1` of the stream.

    Args:
        stream: `uint8` bytes from `pack_rows` or `pack`.
        ids: `int32` rows, any shape. Rows that fill whole bytes may lie anywhere in the stream;
            others below bit `2**31`.
        bits: Bits of a code, as in `pack`.
        length: Number of codes in a row.

    Returns: `int32` codes, of the shape of `ids` and `length`.

    >>> stream = tf.constant(pack_rows(np.array([[1, 2], [3, 4]]), 4))
    >>> unpack_rows(stream, tf.constant([1]), 4, 2).numpy()
    array([[3, 4]], dtype=int32)
    """
    if _fills_bytes(length, bits):
        if bits == 8:
            return tf.cast(_byte_rows(stream, ids, length), tf.int32)
        if bits == 4:
            both = _halves(tf.cast(_byte_rows(stream, ids, length // 2), tf.int32), axis=-1)
            return tf.reshape(both, tf.concat([tf.shape(ids), [length]], axis=0))
        rank = ids.shape.rank
        return tf.transpose(unpack_columns(stream, ids, bits, length), [*range(1, rank + 1), 0])
    positions = tf.expand_dims(ids * length, -1) + np.arange(length, dtype=np.int32)
    return unpack(stream, positions, bits)


def unpack_columns(stream: tf.Tensor, ids: tf.Tensor, bits: int, length: int) -> tf.Tensor:
    """Like `unpack_rows`, with the code axis first: the first code of all ids, then the second.

    On one core 32 rows of 32 codes of 5 bits take 7 us in TFLite, and 11 us with the codes last:
    the gathers copy runs of ids, not single numbers. A sum over codes is also faster over the first
    axis.

    Returns: `int32` codes `(length, ...)`.

    >>> stream = tf.constant(pack_rows(np.array([[1, 2], [3, 4]]), 4))
    >>> unpack_columns(stream, tf.constant([0, 1]), 4, 2).numpy().tolist()
    [[1, 3], [2, 4]]
    """
    rank = ids.shape.rank
    along = np.arange(length, dtype=np.int32).reshape(-1, *[1] * rank)
    if not _fills_bytes(length, bits):
        return unpack(stream, tf.expand_dims(ids * length, 0) + along, bits)
    rows = _byte_rows(stream, ids, length * bits // 8)
    columns = tf.cast(tf.transpose(rows, [rank, *range(rank)]), tf.int32)
    if bits == 8:
        return columns
    if bits == 4:
        both = _halves(columns, axis=1)
        return tf.reshape(both, tf.concat([[length], tf.shape(ids)], axis=0))
    first_bit = along * bits
    first, last = along.reshape(-1) * bits // 8, (along.reshape(-1) * bits + bits - 1) // 8
    window = tf.gather(columns, first)
    for extra in range(1, int(np.max(last - first)) + 1):
        # The floormod removes the bits above a code that ends in an earlier byte.
        byte = np.minimum(first + extra, length * bits // 8 - 1)
        window += tf.gather(columns, byte) * 256**extra
    if np.any(first_bit % 8):
        window = tf.bitwise.right_shift(window, first_bit % 8)
    return window if bits == 16 else tf.math.floormod(window, 2**bits)


def _halves(whole: tf.Tensor, axis: int) -> tf.Tensor:
    """The two codes in each byte, in a new dimension."""
    low, high = tf.math.floormod(whole, 16), tf.bitwise.right_shift(whole, 4)
    return tf.stack([low, high], axis=axis)


def _byte_rows(stream: tf.Tensor, ids: tf.Tensor, row_bytes: int) -> tf.Tensor:
    """The bytes of rows that fill whole bytes: `uint8` `(..., row_bytes)`."""
    whole = stream.shape[0] - stream.shape[0] % row_bytes  # without what `pack` adds at the end
    return tf.gather(tf.reshape(stream[:whole], [-1, row_bytes]), ids)


def _fills_bytes(length: int, bits: int) -> bool:
    """Whether rows begin and end at byte boundaries; not used for rows of one code."""
    return length > 1 and length * bits % 8 == 0


def _extra_bytes(bits: int) -> int:
    if 8 % bits == 0:
        return 0
    return 1 if bits <= 9 else 2  # a window of 16 bits holds any shift (<= 7) plus 9 bits
