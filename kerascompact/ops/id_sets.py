"""Compact sets of ids: membership, and the rank of an id in the set.

Two ways to store a set of `n` ids below `V`, both read with TFLite built-ins on int32:

- "bitmap": a bit for each id, and the count before each block of 64 ids. About `1.25 V` bits.
- "sorted": the lower byte of each id of the set, in order, and the start of each block of 256 ids.
  About `8 n + V / 16` bits, searched in eight steps.
"""

import numpy as np
import tensorflow as tf

from kerascompact.core import checks

KINDS = ("bitmap", "sorted")
_BLOCK = {"bitmap": 64, "sorted": 256}
_BYTES = _BLOCK["bitmap"] // 8
_POWERS = 2 ** np.arange(9, dtype=np.int32)


def pack_set(ids: np.ndarray, count: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Packs a set of ids below `count`.

    Args:
        ids: Ids of the set, distinct and ascending.
        count: Number of all ids, `V`.
        kind: "bitmap" or "sorted".

    Returns: uint8 bytes, and the number of ids of the set before each block; int16 if `n` fits.

    >>> entries, before = pack_set(np.array([1, 2, 70]), 100, "bitmap")
    >>> entries.nonzero()[0].tolist(), before.tolist()
    ([0, 8], [0, 2, 3])
    """
    ids = checks.ids_below("ids", ids, count)
    block = _BLOCK[checks.choice("kind", kind, KINDS)]
    starts = np.arange(-(-count // block) + 1) * block
    before = np.searchsorted(ids, starts).astype(number_type(len(ids)))
    if kind == "sorted":
        return (ids % block).astype(np.uint8), before
    bits = np.zeros((len(before) - 1) * block, np.uint8)
    bits[ids] = 1
    return np.packbits(bits, bitorder="little"), before


def set_shapes(size: int, count: int, kind: str) -> tuple[int, int]:
    """Sizes of the two arrays of a set of `size` ids below `count`.

    >>> set_shapes(3, 100, "bitmap"), set_shapes(3, 100, "sorted")
    ((16, 3), (3, 2))
    """
    blocks = -(-count // _BLOCK[kind])
    return (blocks * _BYTES if kind == "bitmap" else size), blocks + 1


def number_type(size: int) -> str:
    """Type of the counts before a block.

    >>> number_type(32_767), number_type(32_768)
    ('int16', 'int32')
    """
    return "int16" if size < 2**15 else "int32"


def set_bits(size: int, count: int, kind: str) -> int:
    """Total bits of both arrays.

    >>> set_bits(3000, 62_000, "bitmap"), set_bits(3000, 62_000, "sorted")
    (77536, 27904)
    """
    entries, before = set_shapes(size, count, kind)
    return 8 * entries + 8 * np.dtype(number_type(size)).itemsize * before


def places(
    entries: tf.Tensor, before: tf.Tensor, ids: tf.Tensor, kind: str
) -> tuple[tf.Tensor, tf.Tensor]:
    """Whether ids are in a set, and their rank in it.

    Args:
        entries: Entries that `pack_set` returned.
        before: Counts that `pack_set` returned.
        ids: Ids to look up, int32 of any shape, in `[0, V)`.
        kind: Kind of the set, as given to `pack_set`.

    Returns: bool and int32 of the shape of `ids`. An id outside of the set gets the rank
    of a neighbour that is in it, which is safe to gather.

    >>> packed = pack_set(np.array([1, 2, 70]), 100, "sorted")
    >>> found, place = places(*packed, tf.constant([70, 3]), "sorted")
    >>> found.numpy().tolist(), place.numpy().tolist()
    ([True, False], [2, 1])
    """
    return (_bitmap_places if kind == "bitmap" else _sorted_places)(entries, before, ids)


def _bitmap_places(
    bitmap: tf.Tensor, before: tf.Tensor, ids: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    block = tf.bitwise.right_shift(ids, 6)
    within = ids - block * 64
    along = np.arange(_BYTES, dtype=np.int32)
    # Byte by byte: the converter would store the bitmap once more in the shape of blocks.
    rows = tf.cast(tf.gather(bitmap, tf.expand_dims(block * _BYTES, -1) + along), tf.int32)
    # The bits of each byte below the id's own: all, some or none of its eight.
    below = tf.minimum(tf.maximum(tf.expand_dims(within, -1) - 8 * along, 0), 8)
    smaller = tf.math.floormod(rows, tf.gather(_POWERS, below))
    # The number of set bits is the number minus the sum of its halves, quarters, ...
    counts = smaller
    for shift in range(1, 8):
        counts -= tf.bitwise.right_shift(smaller, shift)
    rank = tf.cast(tf.gather(before, block), tf.int32) + tf.reduce_sum(counts, axis=-1)
    own = tf.cast(tf.gather(bitmap, tf.bitwise.right_shift(ids, 3)), tf.int32)
    own = tf.math.floormod(tf.bitwise.right_shift(own, tf.math.floormod(ids, 8)), 2)
    found = tf.equal(own, 1)
    return found, tf.where(found, rank, tf.maximum(rank - 1, 0))


def _sorted_places(
    low: tf.Tensor, before: tf.Tensor, ids: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    block = tf.bitwise.right_shift(ids, 8)
    within = ids - block * 256
    last = low.shape[0] - 1
    place = tf.cast(tf.gather(before, block), tf.int32)
    end = tf.cast(tf.gather(before, block + 1), tf.int32)
    none = tf.equal(place, end)
    for step in (128, 64, 32, 16, 8, 4, 2, 1):
        # The last id of the block that is not larger, or its first.
        further = place + step
        value = tf.cast(tf.gather(low, tf.minimum(further, last)), tf.int32)
        go_on = tf.logical_and(further < end, value <= within)
        place = tf.where(go_on, further, place)
    place = tf.minimum(place, last)
    value = tf.cast(tf.gather(low, place), tf.int32)
    found = tf.logical_and(tf.logical_not(none), tf.equal(value, within))
    return found, place
