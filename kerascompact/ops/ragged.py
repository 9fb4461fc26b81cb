"""Rows of different widths in one array of blocks; where a row begins is computed, not stored."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from kerascompact.core import checks


class RaggedRows(NamedTuple):
    """Consecutive bins of ids; the rows of a bin have equal width.

    The rows of all ids are stored one after another, cut into blocks of `block` numbers, the
    greatest common divisor of the widths. No row is padded.

    `sizes`: ids of each bin; `widths`: numbers in a row of each bin.

    >>> rows = RaggedRows((2, 3), (6, 4))
    >>> rows.block, rows.lengths, rows.num_blocks
    (2, (3, 2), 12)
    """

    sizes: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def block(self) -> int:
        """Numbers in a block."""
        return math.gcd(*self.widths)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Blocks in a row of each bin."""
        return tuple(width // self.block for width in self.widths)

    @property
    def longest(self) -> int:
        """The most blocks of a row."""
        return max(self.lengths)

    @property
    def counts(self) -> tuple[int, ...]:
        """Blocks of each bin."""
        return tuple(np.multiply(self.sizes, self.lengths).tolist())

    @property
    def num_blocks(self) -> int:
        """Blocks of all bins."""
        return sum(self.counts)

    @property
    def starts(self) -> tuple[int, ...]:
        """The first block of each bin."""
        return tuple((np.cumsum(self.counts) - self.counts).tolist())

    @property
    def first_ids(self) -> tuple[int, ...]:
        """The first id of each bin."""
        return tuple((np.cumsum(self.sizes) - self.sizes).tolist())

    def find(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The first block and the number of blocks of the rows of int32 ids of any shape.

        >>> start, length = RaggedRows((2, 3), (6, 4)).find(tf.constant([1, 4]))
        >>> start.numpy().tolist(), length.numpy().tolist()
        ([3, 10], [3, 2])
        """
        if len(self.sizes) == 1:
            return ids * self.longest, tf.ones_like(ids) * self.longest
        firsts = np.array(self.first_ids, np.int32)
        lengths = np.array(self.lengths, np.int32)
        # start_b + (id - first_b) length_b, with all that depends on the bin alone in one number
        offsets = np.array(self.starts, np.int32) - firsts * lengths
        bins = tf.reduce_sum(tf.cast(tf.expand_dims(ids, -1) >= firsts[1:], tf.int32), axis=-1)
        length = tf.gather(lengths, bins)
        return tf.gather(offsets, bins) + ids * length, length

    def pack(self, table: np.ndarray) -> np.ndarray:
        """The blocks `(num_blocks, block)` of a table: of each row what the bins have room for.

        >>> RaggedRows((1, 2), (2, 1)).pack(np.arange(6.0).reshape(3, 2))[:, 0].tolist()
        [0.0, 1.0, 2.0, 4.0]
        """
        parts = np.split(np.asarray(table), np.cumsum(self.sizes)[:-1])
        rows = [part[:, :width].reshape(-1) for part, width in zip(parts, self.widths, strict=True)]
        return np.concatenate(rows).reshape(-1, self.block)

    def block_numbers(self) -> np.ndarray:
        """Which block of its row each block is, `(num_blocks,)`.

        >>> RaggedRows((1, 2), (2, 1)).block_numbers().tolist()
        [0, 1, 0, 0]
        """
        pairs = zip(self.sizes, self.lengths, strict=True)
        return np.concatenate([np.tile(np.arange(length), size) for size, length in pairs])


def ragged_rows(sizes: Sequence[int], widths: Sequence[int]) -> RaggedRows:
    """Checks bins, and drops those without ids.

    Raises: ValueError, if a size is no integer, or there are not as many sizes as widths.

    >>> ragged_rows([0, 3], [2, 1])
    RaggedRows(sizes=(3,), widths=(1,))
    """
    sizes = [checks.integer_in("sizes", size, 0) for size in sizes]
    widths = [checks.integer_in("widths", width, 1) for width in widths]
    if len(sizes) != len(widths) or not any(sizes):
        checks.fail("sizes", f"the ids of {len(widths)} bins, at least one id in all", sizes)
    kept = [pair for pair in zip(sizes, widths, strict=True) if pair[0]]
    rows = RaggedRows(tuple(size for size, _ in kept), tuple(width for _, width in kept))
    checks.integer_in("number of blocks", rows.num_blocks, 1, 2**31 - 1)  # they are found by int32
    return rows


def put(blocks: tf.Tensor, places: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """Puts blocks at their places in `(count, g)`; all other places are zeros.

    Args:
        blocks: Blocks to put, float32 `(m, g)`.
        places: Place of each block, `(m,)` int32, distinct and below `count`.
        count: Number of places, which XLA must know at compilation.

    >>> put(tf.constant([[5.0]]), tf.constant([1]), 3).numpy().tolist()
    [[0.0], [5.0], [0.0]]
    """

    @tf.custom_gradient  # XLA fails on that of the sum, if it does not know `m`
    def put_(blocks: tf.Tensor) -> Any:
        # One block for each place at most: nothing is added.
        found = tf.math.unsorted_segment_sum(blocks, places, count)
        return found, lambda upstream: tf.gather(upstream, places)

    return put_(blocks)
