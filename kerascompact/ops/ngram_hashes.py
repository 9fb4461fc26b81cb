"""Hashes of the n-grams of words in a stream of bytes."""

import tensorflow as tf

from kerascompact.core.hash32 import GOLDEN, STEP, int32
from kerascompact.core.projection import END, START, Projection
from kerascompact.ops.hashing import fmix32


def ngram_hashes(
    units: tf.Tensor, words: tf.Tensor, num_words: int | tf.Tensor, projection: Projection
) -> tuple[tf.Tensor, tf.Tensor]:
    """Hashes of all places where a feature can be, and the word of each.

    Args:
        units: Bytes, int32 in `[0, 255]`, `(N,)`.
        words: Word of each byte, ascending, int32 in `[0, num_words]`; `num_words` means none.
        num_words: Number of words.
        projection: Settings of the projection.

    Returns: int32 hashes, 0 where there is no feature, and int32 words, of one length, which
        depends on `N` and `num_words` only.

    >>> some = Projection(ngrams=(1, 1), boundaries=False)
    >>> hashes, words = ngram_hashes(tf.constant([104, 105, 32]), tf.constant([0, 0, 1]), 1, some)
    >>> tf.not_equal(hashes, 0).numpy()
    array([ True,  True, False])
    """
    return _features(*_marked(units, words, num_words, projection), num_words, projection)


def _marked(
    units: tf.Tensor, words: tf.Tensor, num_words: int | tf.Tensor, projection: Projection
) -> tuple[tf.Tensor, tf.Tensor]:
    """The bytes that count, folded and between word marks, and the word of each.

    Both have the largest possible length; the rest at the end belongs to no word.
    """
    size = tf.size(units) if units.shape[0] is None else units.shape[0]
    place = tf.range(size)
    before = tf.pad(words, [[1, 0]], constant_values=-1)[:-1]
    start = tf.where(tf.not_equal(words, before), place, 0)
    start = tf.math.unsorted_segment_sum(start, words, num_words + 1)
    index = place - tf.gather(start, words)  # of a byte in its word
    counts = tf.logical_and(words < num_words, index < projection.max_word_bytes)
    length = tf.math.unsorted_segment_sum(tf.cast(counts, tf.int32), words, num_words + 1)[:-1]
    marked = tf.where(length > 0, length + projection.marks, 0)
    begin = tf.cumsum(marked, exclusive=True)
    size += projection.marks * num_words
    # Bytes that do not count share one cell past the end; all others have a cell of their own.
    where = tf.gather(tf.pad(begin, [[0, 1]]), words) + projection.marks // 2 + index
    where = tf.where(counts, where, size)
    number = tf.range(num_words)
    folded = tf.gather(projection.folding(), units)
    if projection.boundaries:
        first = tf.where(length > 0, begin, size)
        last = tf.where(length > 0, begin + length + 1, size)
        where = tf.concat([where, first, last], axis=0)
        same = tf.zeros_like(number)
        folded = tf.concat([folded, same + START, same + END], axis=0)
        words = tf.concat([words, number, number], axis=0)
    cells = tf.stack([folded, words - num_words], axis=1)
    cells = tf.scatter_nd(tf.expand_dims(where, 1), cells, [size + 1, 2])[:-1]
    return cells[:, 0], cells[:, 1] + num_words  # a cell that nothing is written to: no word


def _features(
    units: tf.Tensor, words: tf.Tensor, num_words: int | tf.Tensor, projection: Projection
) -> tuple[tf.Tensor, tf.Tensor]:
    """The hashes of all n-grams, 0 for those that are not inside one word, and the word of each."""
    low, high = projection.ngrams
    found = []

    def keep(hashes: tf.Tensor, distance: int) -> None:
        inside = tf.logical_and(words < num_words, tf.equal(_later(words, distance, -1), words))
        found.append(tf.where(inside, hashes, 0))

    rolling = single = fmix32(units + int32(STEP))
    if low == 1:
        keep(single, 0)
    for n in range(2, high + 1):
        rolling = fmix32(rolling * int32(GOLDEN) + _later(units, n - 1) + int32(n * STEP))
        if n >= low:
            keep(rolling, n - 1)
    for gap in range(1, projection.max_gap + 1):
        later = _later(units, gap + 1) + int32(256 * gap + 2 * STEP)
        keep(fmix32(single * int32(GOLDEN) + later), gap + 1)
    return tf.concat(found, axis=0), tf.tile(words, [len(found)])


def _later(numbers: tf.Tensor, distance: int, fill: int = 0) -> tf.Tensor:
    """The numbers `distance` places further on."""
    if distance == 0:
        return numbers
    return tf.pad(numbers, [[0, distance]], constant_values=fill)[distance:]
