"""Skip-gram pairs of words, subsampling of frequent words, and the noise distribution."""

import numpy as np

from kerascompact.core import checks


def keep_probabilities(counts: np.ndarray, threshold: float = 1e-5) -> np.ndarray:
    """Probability that an occurrence of a word is kept in the text.

    `p(w) = min(1, sqrt(t / f(w)))`, `f(w)` the share of the word among all. A word with count 0
    has probability 0, so that padding and the unknown word are always left out.

    Args:
        counts: How often each word occurs, `(V,)`.
        threshold: Threshold `t` of the share of a word in the text.

    Returns: float64 `(V,)`.

    >>> keep_probabilities(np.array([0, 400, 100]), threshold=0.2).round(3).tolist()
    [0.0, 0.5, 1.0]

    Reference: [Mikolov et al., NeurIPS 2013](https://arxiv.org/abs/1310.4546), eq. 5;
    [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 3.1.
    """
    counts = _counts(counts)
    threshold = checks.number("threshold", threshold, above=0)
    share = counts / counts.sum()
    kept = np.sqrt(threshold / np.where(counts > 0, share, 1.0))
    return np.where(counts > 0, np.minimum(kept, 1.0), 0.0)


def noise_probabilities(counts: np.ndarray, power: float = 0.75) -> np.ndarray:
    """The distribution of noise words, `p(w) = U(w)^power / sum`, `U` that of the text.

    Args:
        counts: How often each word occurs, `(V,)`.
        power: Exponent of the counts: 1 draws words as often as the text has them, 0 uniformly.

    Returns: float64 `(V,)`, sum 1.

    >>> noise_probabilities(np.array([0, 16, 1])).round(3).tolist()
    [0.0, 0.889, 0.111]

    Reference: [Mikolov et al., NeurIPS 2013](https://arxiv.org/abs/1310.4546), sec. 2.2;
    [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), eq. 4.
    """
    counts = _counts(counts)
    power = checks.number("power", power)
    weights = np.where(counts > 0, np.where(counts > 0, counts, 1.0) ** power, 0.0)
    return weights / weights.sum()


def subsample(
    ids: np.ndarray, keep: np.ndarray, random: np.random.Generator, texts: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Leaves out words at random before windows are drawn, which then span more of the text.

    Args:
        ids: Text, ids `(n,)`.
        keep: Probabilities from `keep_probabilities`.
        random: Random generator of the draws.
        texts: Number of the text of each word; `None`: one text.

    Returns: The remaining words, and their texts.

    >>> random = np.random.default_rng(0)
    >>> subsample(np.array([1, 0, 1, 2]), np.array([0.0, 1.0, 1.0]), random)[0].tolist()
    [1, 1, 2]
    """
    ids = checks.ids_below("ids", ids, len(keep))
    # float32 draws are multiples of 2^-24: finer than any share of a vocabulary of millions needs
    stays = random.random(len(ids), np.float32) < keep.astype(np.float32)[ids]
    return ids[stays], None if texts is None else texts[stays]


def skip_gram_pairs(
    ids: np.ndarray,
    window: int,
    random: np.random.Generator,
    texts: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of each word with the words around it.

    Each word `t` has a window `W_t` of its own, drawn from `{1, ..., N}`, and gives the pairs
    `(w_t, w_{t+o})`, `0 < |o| <= W_t`, within the same text.

    Args:
        ids: Words `(n,)`, text after text.
        window: Largest window `N`.
        random: Random generator of the windows.
        texts: Number of the text of each word; `None`: one text.

    Returns: Words and their contexts, `(pairs,)` each, `n (N + 1)` pairs or somewhat fewer;
    ordered by distance, so shuffle them.

    Raises: ValueError, if `window` is no integer >= 1, or `texts` is not as long as `ids`.

    >>> pairs = skip_gram_pairs(np.array([5, 6, 7]), 1, np.random.default_rng(0))
    >>> sorted(zip(*(part.tolist() for part in pairs), strict=True))
    [(5, 6), (6, 5), (6, 7), (7, 6)]

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.1.
    """
    window = checks.integer_in("window", window, 1)
    ids = np.asarray(ids)
    if texts is not None and len(texts) != len(ids):
        raise ValueError(
            f"`texts` must have a number for each of the {len(ids)} ids. Received: {len(texts)}."
        )
    widths = random.integers(1, window + 1, len(ids), dtype=np.int16)
    words, contexts = [ids[:0]], [ids[:0]]
    for offset in range(1, min(window, len(ids) - 1) + 1):
        left, right = ids[:-offset], ids[offset:]
        together = True if texts is None else texts[:-offset] == texts[offset:]
        reaches = (widths[:-offset] >= offset) & together
        reached = (widths[offset:] >= offset) & together
        words += [left[reaches], right[reached]]
        contexts += [right[reaches], left[reached]]
    return np.concatenate(words), np.concatenate(contexts)


def _counts(counts: np.ndarray) -> np.ndarray:
    found = np.asarray(counts)
    if found.ndim != 1 or not np.issubdtype(found.dtype, np.number) or not found.size:
        checks.fail("counts", "a vector of numbers, one per word", counts)
    checks.finite("counts", found)
    if found.min() < 0 or found.max() <= 0:
        checks.fail("counts", "numbers >= 0, one of them above 0", counts)
    return found.astype(np.float64)
