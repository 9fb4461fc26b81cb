"""Hashes of a text's words inside a graph, with as few operators as they take.

They are those of `text.word_hashes`, for slots and buckets. NUL is white space, so that zeros may
follow a text; numbers that are no bytes are, too.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kerascompact.core.byte_rules import ByteRules
from kerascompact.core.hash32 import MIX, multiplier
from kerascompact.ops.byte_text import endings_in, shifted, starts_of, with_pairs


class Hashable(NamedTuple):
    """The words of `B` texts of `C` bytes, in `W` slots each and one slot for further words.

    `units`: the number of each byte, 0 for white space, int32 `(B, C)`. `slots`: the slot of each
    byte, `(B, C)`, in `[0, B (W + 1))`: white space is in that of the next word. `ends`: 1 where a
    word ends, `(B, C)`. `sequence_length`: number of slots `W`.
    """

    units: tf.Tensor
    slots: tf.Tensor
    ends: tf.Tensor
    sequence_length: int | tf.Tensor


def split(
    data: tf.Tensor,
    rules: ByteRules,
    sequence_length: int | None = None,
    max_words: int | None = None,
) -> Hashable:
    """Finds the words of texts given as bytes.

    Args:
        data: The texts, int32 `(B, C)`.
        rules: The token rules as tables, with NUL as white space.
        sequence_length: Number of slots `W`. `None`: as many as the longest text has words.
        max_words: Largest `W`, without a `sequence_length`. Further words are left out.
    Example:
    >>> from kerascompact.text.byte_rules import byte_rules
    >>> text = tf.constant([list(b"up! ok")])
    >>> split(text, byte_rules("wordpunct").without_nul).slots.numpy()
    array([[0, 0, 1, 2, 2, 2]], dtype=int32)
    """
    rows = data.shape[0]
    index = tf.minimum(tf.maximum(data, 0), 256)  # 0 and 256: white space
    units, kinds = _of_bytes(index, rules.units), None
    if rules.two_kinds:
        kinds = tf.sign(units)
        after = shifted(kinds, -1)
        ends = tf.minimum(kinds * (kinds - after), 1)  # 0 in white space and inside a word
    else:
        kinds = _of_bytes(index, rules.kinds[rules.folding])
        inside = tf.not_equal(kinds, 0)
        starts = starts_of(kinds, rules)
        if rules.endings:
            folded = _of_bytes(index, rules.folding)
            starts = tf.logical_or(starts, endings_in(folded, rules.endings))
        goes_on = tf.cast(tf.logical_and(inside, tf.logical_not(starts)), tf.int32)
        ends = tf.cast(inside, tf.int32) * (1 - shifted(goes_on, -1))
    numbers = tf.cumsum(ends, axis=1, exclusive=True)
    if sequence_length is None:
        sequence_length = tf.maximum(tf.reduce_max(tf.reduce_sum(ends, axis=1)), 1)
        if max_words is not None:
            sequence_length = tf.minimum(sequence_length, max_words)
    slots = tf.minimum(numbers, sequence_length)
    if rows is None or rows != 1:
        rows = tf.shape(data)[0] if rows is None else rows
        slots += tf.expand_dims(tf.range(rows) * (sequence_length + 1), 1)
    return Hashable(units, slots, ends, sequence_length)


def word_hashes(words: Hashable, seed: int) -> tf.Tensor:
    """The hash of each word, int32 `(B, W)`, of a single text `(W,)`; 0 where there is no word."""
    totals = _by_slot(words.units, words)
    if totals.shape.rank == 1:
        before = tf.cumsum(totals, exclusive=True)
    else:
        before = tf.reshape(tf.cumsum(totals, axis=1, exclusive=True), [-1])
    places = tf.cumsum(words.units, axis=1) - tf.gather(before, words.slots)
    both = places * multiplier(seed)
    both = tf.bitwise.bitwise_xor(both, tf.bitwise.right_shift(both, MIX))
    return _of_words(both * tf.bitwise.right_shift(both, MIX), words)


def token_hashes(
    words: Hashable, seed: int, pairs: bool, sequence_length: int | None, max_words: int | None
) -> tf.Tensor:
    """The hash behind each id: as `word_hashes`, or `(B, L)` of words and pairs in turns."""
    values = word_hashes(words, seed)
    if not pairs:
        return values
    values = tf.expand_dims(values, 0) if values.shape.rank == 1 else values
    slots: int | tf.Tensor | None = sequence_length
    if slots is None:
        slots = 2 * words.sequence_length - 1
        slots = slots if max_words is None else tf.minimum(slots, max_words)
    return with_pairs(values, slots)


def spans(words: Hashable) -> tf.Tensor:
    """Where each word begins and ends in its text, in bytes, int32 `(B, W, 2)`; 0, 0 for none."""
    ones = tf.ones_like(words.units)
    behind = _of_words(words.ends * tf.cumsum(ones, axis=1), words)
    sizes = _of_words(tf.cast(tf.not_equal(words.units, 0), tf.int32), words)
    found = tf.stack([behind - sizes, behind], axis=-1)
    return tf.expand_dims(found, 0) if found.shape.rank == 2 else found


def _of_bytes(index: tf.Tensor, numbers: np.ndarray) -> tf.Tensor:
    """Numbers of bytes by a table of 257 bytes, whose last is for numbers that are none."""
    low = int(min(numbers.min(), 0))
    table = np.append(numbers, 0) - low
    found = tf.cast(tf.gather(table.astype(np.uint8), index), tf.int32)
    return found + low if low else found


def _by_slot(values: tf.Tensor, words: Hashable) -> tf.Tensor:
    """Sums over the bytes of each slot, `(B, W + 1)`, of a single text `(W + 1,)`."""
    rows = values.shape[0]
    slots = words.sequence_length + 1
    if rows == 1:
        return tf.math.unsorted_segment_sum(values, words.slots, slots)
    rows = tf.shape(values)[0] if rows is None else rows
    return tf.reshape(tf.math.unsorted_segment_sum(values, words.slots, rows * slots), [rows, -1])


def _of_words(values: tf.Tensor, words: Hashable) -> tf.Tensor:
    """Sums over the bytes of each word, `(B, W)`, of a single text `(W,)`."""
    sums = _by_slot(values, words)
    if sums.shape.rank == 1:
        return tf.slice(sums, [0], tf.reshape(words.sequence_length, [1]))
    return sums[:, :-1]
