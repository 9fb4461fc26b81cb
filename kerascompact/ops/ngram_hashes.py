"""Hashes of the n-grams of words in a stream of bytes."""

import tensorflow as tf

from kerascompact.core.hash32 import GOLDEN, STEP, int32
from kerascompact.core.projection import END, START, Projection
from kerascompact.ops.hashing import fmix32


def ngram_hashes(
    units: tf.Tensor,
    words: tf.Tensor,
    places: tf.Tensor,
    num_words: int | tf.Tensor,
    projection: Projection,
    fixed: bool = False,
) -> tf.Tensor:
    """Hashes of all places where a feature can be, a row for each word.

    Args:
        units: Bytes, int32 in `[0, 255]`, `(N,)`.
        words: Word of each byte, int32 in `[0, num_words]`; `num_words` means none.
        places: Place of each byte in its word, int32.
        num_words: Number of words. If it is an `int`, one row without features follows that of the
            last word with bytes, and no others.
        projection: Settings of the projection.
        fixed: Whether `num_words` and `max_word_bytes` alone decide the shape, for XLA.

    Returns: int32 `(rows, m)`, 0 where there is no feature; `m` depends on the longest word.

    >>> some = Projection(ngrams=(1, 1), boundaries=False)
    >>> words, places = tf.constant([0, 0, 1]), tf.constant([0, 1, 0])
    >>> hashes = ngram_hashes(tf.constant([104, 105, 32]), words, places, 1, some)
    >>> tf.not_equal(hashes, 0).numpy()
    array([[ True,  True],
           [False, False]])
    """
    cells = _cells(units, words, places, num_words, projection, fixed)
    low, high = projection.ngrams
    numbers, lowest = [], []  # of each kind of feature; of the cells that it spans: < 0 for none
    later, spans = [cells], [cells]
    for _ in range(max(high, projection.max_gap + 2 if projection.max_gap else 1) - 1):
        later.append(_later(later[-1]))
        spans.append(tf.minimum(spans[-1], later[-1]))
    rolling = single = cells + int32(STEP)
    for n in range(1, high + 1):
        if n > 1:
            rolling = rolling * int32(GOLDEN) + (later[n - 1] + int32(n * STEP))
        if n >= low:
            numbers.append(rolling)
            lowest.append(spans[n - 1])
    for gap in range(1, projection.max_gap + 1):
        pair = later[gap + 1] + int32(256 * gap + 2 * STEP)
        numbers.append(single * int32(GOLDEN) + pair)
        lowest.append(spans[gap + 1])
    hashes = fmix32(tf.concat(numbers, axis=1))
    return tf.where(tf.greater_equal(tf.concat(lowest, axis=1), 0), hashes, 0)


def _cells(
    units: tf.Tensor,
    words: tf.Tensor,
    places: tf.Tensor,
    num_words: int | tf.Tensor,
    projection: Projection,
    fixed: bool,
) -> tf.Tensor:
    """The words as rows of cells.

    A cell holds a byte that counts, folded, or a word mark, or -1. Only the `SCATTER_ND` that makes
    them has a shape that TFLite learns from numbers, and nothing computed before it is read after:
    LiteRT 2.3 overwrites such tensors when a run needs more memory than those before.
    """
    counts = tf.logical_and(words < num_words, places < projection.max_word_bytes)
    counts = tf.cast(counts, tf.int32)
    rows, longest = num_words, projection.max_word_bytes
    if not fixed:
        longest = tf.maximum(tf.reduce_max((places + 1) * counts), 1)
    if isinstance(num_words, int) and not fixed:
        rows = tf.reduce_max((words + 1) * counts) + 1
    # What does not count adds nothing to the first cell.
    cell = tf.stack([words * counts, (places + projection.marks // 2) * counts], axis=1)
    folded = (tf.gather(projection.folding(), units) + 1) * counts
    cells = tf.scatter_nd(cell, folded, tf.stack([rows, longest + projection.marks]))
    if not projection.boundaries:
        return cells - 1
    there = tf.minimum(cells, 1)
    first = tf.maximum(_later(there) - there, 0)
    last = tf.maximum(tf.pad(there, [[0, 0], [1, 0]])[:, :-1] - there, 0)
    return cells - 1 + (START + 1) * first + (END + 1) * last


def _later(numbers: tf.Tensor) -> tf.Tensor:
    """The next number at each place of a row; -1 behind the last one."""
    return tf.pad(numbers, [[0, 0], [0, 1]], constant_values=-1)[:, 1:]
