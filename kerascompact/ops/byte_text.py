"""Tokenization of texts as bytes: words and their fingerprints, inside a graph.

All in int32 and bool, with TFLite built-ins only. No input makes them fail: numbers that are not
bytes count as white space, and words past the last slot go to a slot that is not read.
"""

import functools
import itertools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.byte_rules import ALONE, JOINED, ByteRules
from kerascompact.core.hash32 import GOLDEN, STEP, int32
from kerascompact.ops.hashing import fmix32


class Words(NamedTuple):
    """The words of `B` texts of `C` bytes, in `W` slots each and one slot for other bytes.

    `units`: the bytes, folded, int32 `(B C,)`. `slots`: the slot of each byte, `(B C,)`, in
    `[0, B (W + 1))`. `places`: its place in the word, `(B C,)`. `first`: where the word of each
    slot begins in its text, `(B, W + 1)`. `counts`: words of each text, `(B,)`, at most `W`.
    `sequence_length`: number of slots `W`.
    """

    units: tf.Tensor
    slots: tf.Tensor
    places: tf.Tensor
    first: tf.Tensor
    counts: tf.Tensor
    sequence_length: int | tf.Tensor


def texts_of(inputs: Any) -> tf.Tensor:
    """Texts given as bytes, int32 `(B, C)`; an error if they are strings or not a matrix.

    >>> texts_of(np.frombuffer(b"up", np.uint8)[None]).numpy().tolist()
    [[117, 112]]
    """
    data = tf.convert_to_tensor(inputs)
    if data.dtype == tf.string or data.shape.rank not in (None, 2):
        expected = "UTF-8 bytes as integers (batch, bytes), not strings"
        checks.fail("inputs", expected, f"{data.dtype.name} of the shape {data.shape}")
    return tf.cast(data, tf.int32)


def split(
    data: tf.Tensor,
    rules: ByteRules,
    sequence_length: int | None = None,
    max_words: int | None = None,
) -> Words:
    """Finds the words of texts given as bytes.

    Zeros at the end of a text, and numbers that are not bytes, are padding.

    Args:
        data: The texts, int32 `(B, C)`.
        rules: The token rules as tables.
        sequence_length: Number of slots `W`. `None`: as many as the longest text has words.
        max_words: Largest `W`, without a `sequence_length`. Further words are left out.
    Example:
    >>> from kerascompact.text.byte_rules import byte_rules
    >>> text = tf.constant([list(b"Turn it up!")])
    >>> split(text, byte_rules("wordpunct")).first.numpy()[:, :-1]
    array([[ 0,  5,  8, 10]], dtype=int32)
    """
    rows = data.shape[0]
    filled = tf.cumsum(tf.cast(tf.not_equal(data, 0), tf.int32), axis=1, reverse=True)
    is_byte = tf.logical_and(tf.greater_equal(data, 0), tf.less(data, 256))
    is_byte = tf.logical_and(is_byte, tf.greater(filled, 0))
    data = tf.where(is_byte, data, tf.constant(ord(" "), tf.int32))
    folds = bool((rules.folding != np.arange(256)).any())
    units = tf.cast(tf.gather(rules.folding, data), tf.int32) if folds else data
    kinds = tf.cast(tf.gather(rules.kinds, data if _is_plain(rules) else units), tf.int32)
    inside = tf.not_equal(kinds, 0)
    starts = starts_of(kinds, rules)
    if rules.endings:
        starts = tf.logical_or(starts, endings_in(units, rules.endings))
    starts = tf.cast(tf.logical_and(starts, inside), tf.int32)
    numbers = tf.cumsum(starts, axis=1)
    counts = numbers[:, -1]
    if sequence_length is None:
        sequence_length = tf.maximum(tf.reduce_max(counts), 1)
        if max_words is not None:
            sequence_length = tf.minimum(sequence_length, max_words)
    slots = tf.where(inside, tf.minimum(numbers - 1, sequence_length), sequence_length)
    if rows is None or rows != 1:
        rows = tf.shape(data)[0] if rows is None else rows
        slots += tf.expand_dims(tf.range(rows) * (sequence_length + 1), 1)
    slots = tf.reshape(slots, [-1])
    # 0, 1, 2, ...; a range of known length would be stored, 4 bytes for each byte of text
    place = tf.cumsum(tf.cast(tf.greater_equal(filled, 0), tf.int32), axis=1, exclusive=True)
    place = tf.reshape(place, [-1])
    starts = tf.reshape(starts, [-1])
    first = tf.math.unsorted_segment_sum(starts * place, slots, rows * (sequence_length + 1))
    places = place - tf.gather(first, slots)
    return Words(
        tf.reshape(units, [-1]),
        slots,
        places,
        tf.reshape(first, [rows, sequence_length + 1]),
        tf.minimum(counts, sequence_length),
        sequence_length,
    )


def starts_of(kinds: tf.Tensor, rules: ByteRules) -> tf.Tensor:
    """Where a token or white space begins by the kinds of bytes, but for endings, bool `(B, C)`."""
    before = shifted(kinds, 1)
    starts = tf.not_equal(kinds, before)
    if JOINED in rules.kinds:
        begins = tf.logical_or(tf.not_equal(kinds, JOINED), tf.less(before, JOINED))
        starts = tf.logical_and(starts, begins)
    if rules.kinds.max() >= ALONE:
        starts = tf.logical_or(starts, tf.greater_equal(kinds, ALONE))
    return starts


def limits(sequence_length: int | None, max_words: int | None) -> tuple[int | None, int | None]:
    """Checks both limits, of which only one can be given."""
    if sequence_length is not None and max_words is not None:
        checks.fail("max_words", "None if there is a `sequence_length`", max_words)
    if sequence_length is not None:
        sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
    if max_words is not None:
        max_words = checks.integer_in("max_words", max_words, 1)
    return sequence_length, max_words


def fingerprints(words: Words, seed: int) -> tf.Tensor:
    """The hash of each word, int32 `(B, W)`, as `text.fingerprints`; 0 where there is no word."""
    mixed = fmix32((256 * words.places + words.units) * int32(GOLDEN) + int32(seed * STEP))
    return _sums(mixed, words)


def with_pairs(values: tf.Tensor, length: int | tf.Tensor) -> tf.Tensor:
    """Interleaves the hash of each word with that of its pair with the next word.

    Args:
        values: Hashes of words, int32 `(B, W)`; 0 where there is no word.
        length: Number of hashes `L`, at most `2 W`.

    Returns: int32 `(B, L)`; 0 where there is no word, or no next word.
    """
    after = shifted(values, -1)
    pairs = tf.where(tf.equal(after, 0), 0, values * int32(GOLDEN) + after)
    both = tf.stack([values, pairs], axis=2)
    rows = -1 if values.shape[0] is None else values.shape[0]
    width = 2 * tf.shape(values)[1] if values.shape[1] is None else 2 * values.shape[1]
    return tf.reshape(both, [rows, width])[:, :length]


def token_limits(
    pairs: bool, sequence_length: int | None, max_words: int | None
) -> tuple[int | None, int | None]:
    """Limits of words from limits of ids: of `n` words there are `2 n - 1` ids with pairs."""
    if not pairs:
        return sequence_length, max_words
    return sequence_length and sequence_length // 2 + 1, max_words and max_words // 2 + 1


def token_hashes(
    words: Words, seed: int, pairs: bool, sequence_length: int | None, max_words: int | None
) -> tf.Tensor:
    """The hash behind each id, of words or of words and pairs in turns, int32 `(B, L)`."""
    values = fingerprints(words, seed)
    if not pairs:
        return values
    slots: int | tf.Tensor | None = sequence_length
    if slots is None:
        slots = 2 * words.sequence_length - 1
        slots = slots if max_words is None else tf.minimum(slots, max_words)
    return with_pairs(values, slots)


def spans(words: Words) -> tf.Tensor:
    """Where each word begins and ends in its text, in bytes, int32 `(B, W, 2)`; 0, 0 for none."""
    first = words.first[:, :-1]
    return tf.stack([first, first + _sums(tf.ones_like(words.units), words)], axis=-1)


def search(table: tf.Tensor, values: tf.Tensor, below: int, window: int) -> tf.Tensor:
    """Finds each value in a sorted table by binary search.

    The search covers `window` places around the place that interpolation predicts.

    Args:
        table: Sorted fingerprints, int32 `(n,)`.
        values: Values to find, int32 of any shape.
        below, window: Bounds of the search, from `text.fingerprints.Index`.

    Returns: Places in `[0, n)`, int32; any place for a value that is not in the table.
    """
    count = int(table.shape[0])
    bits = min(16, 32 - count.bit_length())
    if window == count:
        place = tf.zeros_like(values)
    else:
        place = tf.bitwise.right_shift(values, 32 - bits) * count
        place = tf.bitwise.right_shift(place, bits) + (count // 2 - below)
        place = tf.minimum(tf.maximum(place, 0), count - window)
    while window > 1:
        half = window // 2
        later = place + half
        place = tf.where(tf.less_equal(tf.gather(table, later), values), later, place)
        window -= half
    return place


def _is_plain(rules: ByteRules) -> bool:
    """Whether folding changes no byte's kind, so that both can be computed independently."""
    return bool((rules.kinds[rules.folding] == rules.kinds).all())


def shifted(values: tf.Tensor, places: int) -> tf.Tensor:
    """Shifts columns to the right, or to the left if `places` is negative; fills with zeros."""
    if places > 0:
        return tf.pad(values, [[0, 0], [places, 0]])[:, :-places]
    return tf.slice(tf.pad(values, [[0, 0], [0, -places]]), [0, -places], [-1, -1])


def endings_in(units: tf.Tensor, endings: tuple[bytes, ...]) -> tf.Tensor:
    """Where one of the endings begins, bool `(B, C)`."""
    numbers, begins = _letters(endings)
    size, reach = int(numbers.max()) + 1, max(map(len, endings))
    letter = tf.cast(tf.gather(numbers, units), tf.int32)
    code = letter * size ** (reach - 1)
    for distance in range(1, reach):
        code += shifted(letter, -distance) * size ** (reach - 1 - distance)
    return tf.not_equal(tf.cast(tf.gather(begins, code), tf.int32), 0)


@functools.cache
def _letters(endings: tuple[bytes, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The number of each byte, 0 for those in no ending, and whether one begins a row of numbers.

    uint8 `(256,)` and `(letters ** longest,)`: the numbers are the digits of a place in the second.
    """
    letters = sorted(set(b"".join(endings)))
    numbers = np.zeros(256, np.uint8)
    numbers[letters] = np.arange(1, len(letters) + 1)
    spelt = bytes([0, *letters])
    rows = itertools.product(spelt, repeat=max(map(len, endings)))
    begins = [any(bytes(row).startswith(ending) for ending in endings) for row in rows]
    return numbers, np.array(begins, np.uint8)


def _sums(values: tf.Tensor, words: Words) -> tf.Tensor:
    """Sums over the bytes of each word, `(B, W)`."""
    rows = words.first.shape[0]
    rows = tf.shape(words.first)[0] if rows is None else rows
    sums = tf.math.unsorted_segment_sum(values, words.slots, rows * (words.sequence_length + 1))
    return tf.reshape(sums, [rows, words.sequence_length + 1])[:, :-1]
