"""Bits of words from their character n-grams, in NumPy; `ops.projection` has the tensor version."""

from collections.abc import Sequence

import numpy as np

from kerascompact.core import checks
from kerascompact.core.hash32 import GOLDEN, STEP, fmix32
from kerascompact.core.projection import END, START, Projection

_ROWS = 64  # words at a time, so that the matrices stay in the cache
_FEATURES = 4096  # features of a text at a time


def word_bytes(words: Sequence[str] | Sequence[bytes]) -> tuple[np.ndarray, np.ndarray]:
    r"""The UTF-8 bytes of all words, one after another, and the length of each.

    Args:
        words: Words, as `str` or as bytes.

    Returns: uint8 `(bytes,)` and int64 `(words,)`.

    Raises: ValueError, with the index of the first that is neither `str` nor bytes.

    >>> word_bytes(["on", "", "caf\u00e9"])[1]
    array([2, 0, 5])
    """
    if isinstance(words, str | bytes) or not isinstance(words, Sequence | np.ndarray):
        checks.fail("words", "a list of str or bytes", words)
    encoded = []
    for index, word in enumerate(words):
        if not isinstance(word, str | bytes):
            checks.fail(f"words[{index}]", "a str or bytes", word)
        try:
            encoded.append(word.encode() if isinstance(word, str) else bytes(word))
        except UnicodeError:
            checks.fail(f"words[{index}]", "a str that UTF-8 can hold", word)
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return np.frombuffer(b"".join(encoded), np.uint8), lengths


def ngram_hashes(
    words: Sequence[str] | Sequence[bytes], projection: Projection
) -> tuple[np.ndarray, np.ndarray]:
    """The hashes of all features of all words, word by word, and how many each has.

    Returns: uint32 `(features,)` and int64 `(words,)`.

    >>> hashes, counts = ngram_hashes(["a", "", "ab"], Projection(ngrams=(1, 2)))
    >>> counts.tolist(), np.array_equal(hashes[:2], hashes[5:7])
    ([5, 0, 7], True)
    """
    units, word = _marked(*word_bytes(words), projection)
    low, high = projection.ngrams
    found, places, rolling = [], [], np.zeros(len(units), np.uint32)
    golden = np.uint32(GOLDEN)

    def keep(numbers: np.ndarray, distance: int) -> None:
        inside = word[distance:] == word[: max(0, len(word) - distance)]
        found.append(numbers[: len(inside)][inside])
        places.append(word[: len(inside)][inside])

    for n in range(1, high + 1):
        rolling = rolling * golden + _later(units, n - 1) + np.uint32(n * STEP & 0xFFFFFFFF)
        if n == 1:
            single = rolling
        if n >= low:
            keep(rolling, n - 1)
    for gap in range(1, projection.max_gap + 1):
        later = _later(units, gap + 1) + np.uint32(256 * gap)
        pairs = single * golden + later + np.uint32(2 * STEP & 0xFFFFFFFF)
        keep(pairs, gap + 1)
    owners = np.concatenate(places)
    order = np.argsort(owners, kind="stable")
    return fmix32(np.concatenate(found)[order]), np.bincount(owners, minlength=len(words))


def projection_bits(
    words: Sequence[str] | Sequence[bytes],
    projection: Projection | None = None,
    *,
    together: bool = False,
) -> np.ndarray:
    """The bits of words, the same as in TensorFlow and in an exported file.

    Args:
        words: Words, as `str` or as bytes.
        projection: Settings of the projection; default: those of the paper.
        together: Whether the words form one text, with the bits of all their features (SGNN).
    Shapes: words `(n,)` -> bits `(n, T d)` uint8, 0 or 1; or `(T d,)` of all `together`.
    Raises: ValueError, if a word is neither `str` nor bytes.
    Example:
    >>> king, kingg, table = projection_bits(["king", "kingg", "table"]).astype(bool)
    >>> bool(np.mean(king == kingg) > 0.7 > np.mean(king == table))
    True
    """
    projection = Projection() if projection is None else projection
    hashes, counts = ngram_hashes(words, projection)
    if together:
        total = np.zeros(projection.sides, np.int64)
        for begin in range(0, len(hashes), _FEATURES):
            total += _sums(hashes[None, begin : begin + _FEATURES], projection)[0].astype(np.int64)
        return (total > 0).astype(np.uint8).reshape(-1)
    bits = np.zeros((len(counts), *projection.sides), np.uint8)
    # Words with similar numbers of features are multiplied together, as a stack of matrices.
    order = np.argsort(counts, kind="stable")
    order = order[np.searchsorted(counts[order], 1) :]
    padded, starts = np.append(hashes, np.uint32(0)), np.cumsum(counts) - counts
    for begin in range(0, len(order), _ROWS):
        some = order[begin : begin + _ROWS]
        place = np.arange(counts[some[-1]])
        index = np.where(place < counts[some][:, None], starts[some][:, None] + place, -1)
        bits[some] = _sums(padded[index], projection) > 0
    return bits.reshape(len(counts), projection.num_bits)


def _sums(hashes: np.ndarray, projection: Projection) -> np.ndarray:
    """`sum_f p_s(f) q_j(f)` for rows of hashes `(n, features)`, of which 0 counts as none."""
    first, second = projection.multipliers()
    signed = hashes.view(np.int32)[..., None]
    numbers = ((signed * first) >> 24).astype(np.float32)
    signs = np.sign(signed * second).astype(np.float32)
    return np.matmul(numbers.transpose(0, 2, 1), signs)  # integers below 2^24: exact


def _marked(
    data: np.ndarray, lengths: np.ndarray, projection: Projection
) -> tuple[np.ndarray, np.ndarray]:
    """The bytes that count, folded and between word marks, and the word of each."""
    kept = np.minimum(lengths, projection.max_word_bytes)
    marked = np.where(kept > 0, kept + projection.marks, 0)
    word = np.repeat(np.arange(len(lengths)), marked)
    index = np.arange(len(word)) - np.repeat(np.cumsum(marked) - marked, marked)
    place = index - projection.marks // 2
    inside = (place >= 0) & (place < kept[word])
    units = np.where(place < 0, START, END).astype(np.uint32)
    source = (np.cumsum(lengths) - lengths)[word] + place
    units[inside] = projection.folding()[data[source[inside]]]
    return units, word


def _later(units: np.ndarray, distance: int) -> np.ndarray:
    """The byte `distance` places further on; arbitrary past the end."""
    return np.concatenate([units[distance:], np.zeros(min(distance, len(units)), np.uint32)])
