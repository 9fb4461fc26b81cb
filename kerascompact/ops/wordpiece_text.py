"""WordPiece tokenization of a text given as bytes, inside a graph.

All in int32 and bool, with TFLite built-ins only. No input makes it fail: numbers that are not
bytes, and bytes that are not UTF-8, are dropped.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kerascompact.core.characters import (
    ALONE,
    HANGUL,
    LEADING,
    MANY,
    MIX,
    PAGE,
    POINTS,
    ROW,
    SECOND,
    SPACE,
    SYLLABLES,
    TRAILING,
    VOWELS,
)
from kerascompact.core.hash32 import GOLDEN, int32

_SLOTS = 1 << 24  # a slot, and the size of a piece above it, in one number
_DROPPED, _GOES_ON = 31, 30  # shifts of a byte that begins no character, or goes on with one


class Tables(NamedTuple):
    """Arrays of a `text.character_map.CharacterMap` and of `text.pieces.Pieces`."""

    top: tf.Tensor
    middle: tf.Tensor
    pages: tf.Tensor
    entries: tf.Tensor
    seconds: tf.Tensor
    displacements: tf.Tensor
    tags: tf.Tensor


class Found(NamedTuple):
    """Tokens of a text: their slots `(tokens,)`, and whether each stands for an unknown word."""

    slots: tf.Tensor
    unknown: tf.Tensor


def code_points(data: tf.Tensor) -> tf.Tensor:
    """The code point that begins at each byte, 0 where none does.

    Args:
        data: A text in UTF-8, int32 `(C,)`.

    >>> code_points(tf.constant([*"a\u00e9".encode()])).numpy()
    array([ 97, 233,   0], dtype=int32)
    """
    data = tf.minimum(tf.maximum(data, 0), 255)
    shifts = np.full(256, _DROPPED, np.uint8)
    shifts[0x80:0xC0] = _GOES_ON
    offsets, smallest = np.zeros((2, _DROPPED + 1), np.int32)
    limits = np.zeros(_DROPPED + 1, np.int32)  # of the bytes that are missing, as bits 4, 2 and 1
    for begin, end, shift in ((0, 0x80, 18), (0xC2, 0xE0, 12), (0xE0, 0xF0, 6), (0xF0, 0xF5, 0)):
        shifts[begin:end] = shift
        offsets[shift] = begin >> 4 << 22 - shift if begin else 0
        limits[shift] = 1 << shift // 6
        smallest[shift] = {12: 0x80, 6: 0x800, 0: 0x10000}.get(shift, 0)  # fewer bytes would do
    shift = _read(shifts, data)
    first, second, third = _after(tf.math.floormod(data, 64))
    joined = ((data * 64 + first) * 64 + second) * 64 + third
    points = tf.bitwise.right_shift(joined, shift) - tf.gather(offsets, shift)
    first, second, third = _after(tf.cast(tf.not_equal(shift, _GOES_ON), tf.int32))
    complete = tf.less(4 * first + 2 * second + third, tf.gather(limits, shift))
    valid = complete & tf.greater_equal(points, tf.gather(smallest, shift)) & (points < POINTS)
    return tf.where(valid, points, 0)


def _after(numbers: tf.Tensor) -> list[tf.Tensor]:
    """The number one, two and three places later; 1 behind the end."""
    padded = tf.pad(numbers, [[0, 3]], constant_values=1)
    return [padded[1:-2], padded[2:-1], padded[3:]]


def characters(points: tf.Tensor, tables: Tables, hangul: bool) -> tf.Tensor:
    """The characters that code points become, without those that become nothing, int32 `(m,)`."""
    at = tf.bitwise.right_shift(points, 3)
    row = _read(tables.top, tf.bitwise.right_shift(points, 9))
    page = _read(tables.middle, row * ROW + tf.math.floormod(at, ROW))
    entry = _read(tables.pages, page * PAGE + tf.math.floormod(points, PAGE))
    packed = tf.gather(tables.entries, entry)
    several = hangul or tables.seconds.shape[0] > 1
    own = tf.math.floormod(packed, 1 << SECOND) if several else packed
    units = tf.bitwise.right_shift(own, 1) + points * tf.math.floormod(own, 2)
    if several:
        seconds = tf.gather(tables.seconds, tf.bitwise.right_shift(packed, SECOND))
        parts = [units, seconds]
        if hangul:
            parts = _syllables(points, units, seconds)
        units = tf.reshape(tf.stack(parts, axis=1), [-1])
    return tf.gather(units, _places(tf.not_equal(units, 0)))


def _syllables(points: tf.Tensor, units: tf.Tensor, seconds: tf.Tensor) -> list[tf.Tensor]:
    """The letters of syllables of Hangul, as the Unicode Standard computes them, sec. 3.12."""
    number = points - HANGUL
    is_one = tf.logical_and(number >= 0, number < SYLLABLES)
    pair = number // 28
    trailing = number - pair * 28
    leading = pair // 21
    vowel = pair - leading * 21
    return [
        tf.where(is_one, leading + LEADING, units),
        tf.where(is_one, vowel + VOWELS, seconds),
        tf.where(tf.logical_and(is_one, trailing > 0), trailing + TRAILING, 0),
    ]


def tokens(units: tf.Tensor, tables: Tables, factors: np.ndarray, longest_word: int) -> Found:
    """Splits words into the longest pieces, from the left.

    All pieces at all places are looked up at once; the places that a word's pieces reach from its
    beginning are found by doubling the steps.

    Args:
        units: Characters of a text, int32 `(m,)`.
        tables: The tables.
        factors: Multipliers of the hashes and of the tags, int32 `(2, L + 1)`.
        longest_word: Most characters in a word; longer ones are unknown.
    """
    size, longest = tf.size(units), factors.shape[1] - 1
    inside = tf.cast(tf.less(units, SPACE), tf.int32)
    letter = tf.cast(tf.less(units, ALONE), tf.int32)
    starts = inside - letter + tf.maximum(letter - tf.pad(letter, [[1, 0]])[:-1], 0)
    words = tf.cumsum(starts + 1 - inside)
    lengths = tf.math.unsorted_segment_sum(tf.ones_like(units), words, size + 1)
    places = tf.range(size)
    left = (tf.gather(tf.cumsum(lengths), words) - places) * inside

    reach = tf.constant(np.arange(longest, dtype=np.int32))
    window = tf.gather(tf.pad(units, [[0, longest - 1]]), tf.expand_dims(places, 1) + reach)
    continued = tf.expand_dims(1 - starts, 1)
    values, tags = (tf.cumsum(window * own[:-1], axis=1) + continued * own[-1] for own in factors)
    pairs = _places(tf.reshape(tf.less(reach, tf.expand_dims(left, 1)), [-1]))
    at = pairs // longest
    tags = tf.gather(tf.reshape(tags, [-1]), pairs)
    slots = _slots(tf.gather(tf.reshape(values, [-1]), pairs), tags, tables)
    known = tf.equal(tf.gather(tables.tags, slots), tags)
    found = tf.where(known, (pairs - at * longest + 1) * _SLOTS + slots, 0)
    best = tf.maximum(tf.math.unsorted_segment_max(found, at, size), 0)
    step = tf.bitwise.right_shift(best, 24)

    after = tf.concat([places + step, tf.expand_dims(size, 0)], axis=0)
    shape = tf.expand_dims(size + 1, 0)
    reached = tf.pad(starts, [[0, 1]])
    rounds = int(longest_word - 1).bit_length()
    for _ in range(rounds):
        reached += tf.scatter_nd(tf.expand_dims(after, 1), reached, shape)  # sums of equal places
        if rounds > 8:  # each doubles the sums
            reached = tf.minimum(reached, 1)
        after = tf.gather(after, after)
    reached = tf.minimum(reached[:-1], inside)
    failed = tf.math.unsorted_segment_sum(reached * tf.maximum(1 - step, 0), words, size + 1)
    failed += tf.maximum(lengths - longest_word, 0)
    unknown = tf.greater(tf.gather(failed, words), 0)
    kept = _places(tf.greater(tf.where(unknown, starts, reached), 0))
    return Found(tf.math.floormod(tf.gather(best, kept), _SLOTS), tf.gather(unknown, kept))


def _slots(values: tf.Tensor, tags: tf.Tensor, tables: Tables) -> tf.Tensor:
    """Slots of hashes, see `text.perfect_hash`."""
    values = tf.bitwise.bitwise_xor(values, tf.bitwise.right_shift(values, 15)) * MIX
    values = tf.bitwise.bitwise_xor(values, tf.bitwise.right_shift(values, 13))
    buckets = tf.math.floormod(values, tables.displacements.shape[0])
    moved = _read(tables.displacements, buckets) * int32(GOLDEN)
    if tables.tags.shape[0] > MANY:
        values = tf.bitwise.bitwise_xor(values, tags)
    return tf.math.floormod(tf.bitwise.bitwise_xor(values, moved), tables.tags.shape[0])


def _read(table: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    return tf.cast(tf.gather(table, places), tf.int32)


def _places(chosen: tf.Tensor) -> tf.Tensor:
    """Where `chosen`, bool `(n,)`, is true."""
    return tf.cast(tf.reshape(tf.where(chosen), [-1]), tf.int32)
