"""Inspection of learned clusters and codes: their words, and a plot of clusters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.text.vocabulary import Vocabulary


def words_per_cluster(
    assignments: np.ndarray, words: Vocabulary | Sequence[str], top: int = 10
) -> dict[int, list[str]]:
    """Lists the most frequent words of every cluster, as in the paper's Table 4.

    Args:
        assignments: Cluster of each word, `(V,)`, from a layer's `assignments()`; -1 for a word
            that has a vector of its own.
        words: The vocabulary, or the word of every id, most frequent first.
        top: Largest number of words per cluster.

    Returns: Cluster -> words, the largest cluster first; clusters without words are left out.

    Raises: ValueError, if `words` are not as many as `assignments`.

    >>> words_per_cluster(np.array([1, 0, 1, -1]), ["the", "goal", "a", "bank"])
    {1: ['the', 'a'], 0: ['goal']}

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), Table 4.
    """
    assignments = np.asarray(assignments)
    words = _words_of(words, top)
    if assignments.shape != (len(words),):
        checks.fail("words", f"a list of {assignments.size} words, one per assignment", words)
    clusters, sizes = np.unique(assignments[assignments >= 0], return_counts=True)
    order = clusters[np.argsort(-sizes, kind="stable")]
    return {int(c): [words[i] for i in np.flatnonzero(assignments == c)[:top]] for c in order}


def words_per_code(
    codes: np.ndarray, words: Vocabulary | Sequence[str], top: int = 10
) -> dict[str, list[str]]:
    """Lists the most frequent words of every code, as in the paper's Table 6.

    Args:
        codes: Code of each word, `(V, D)`, from a layer's `codes()`.
        words: The vocabulary, or the word of every id, most frequent first.
        top: Largest number of words per code.

    Returns: Code -> words, such as "3-1-0-4". Codes are sorted position by position, so that codes
    that begin alike stand together; those of no word are left out.

    Raises: ValueError, if `words` are not as many as rows of `codes`.

    >>> words_per_code(np.array([[3, 1], [3, 0], [3, 1], [0, 2]]), ["up", "week", "over", "the"])
    {'0-2': ['the'], '3-0': ['week'], '3-1': ['up', 'over']}

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), Table 6.
    """
    codes = np.asarray(codes)
    words = _words_of(words, top)
    if codes.ndim != 2 or len(codes) != len(words):
        checks.fail("words", f"a list of {len(codes)} words, one per row of codes (V, D)", words)
    different, which, sizes = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    order = np.argsort(which.reshape(-1), kind="stable")  # by code, most frequent words first
    members = np.split(order, np.cumsum(sizes)[:-1])
    names = ["-".join(map(str, code)) for code in different.tolist()]
    return {name: [words[i] for i in ids[:top]] for name, ids in zip(names, members, strict=True)}


def _words_of(words: Vocabulary | Sequence[str], top: int) -> Sequence[str]:
    checks.integer_in("top", top, 1)
    if isinstance(words, Vocabulary):
        return [words.word_of(id) for id in range(len(words))]
    return words


def plot_clusters(
    codebook: np.ndarray, assignments: np.ndarray, words: Vocabulary | Sequence[str], top: int = 3
) -> Any:
    """Plots clusters on the two principal axes of their vectors, with their frequent words.

    A dot's area is the number of words in the cluster.

    Args:
        codebook: Cluster vectors `(k, d)`.
        assignments: Cluster of each word, `(V,)` integers; -1 for words without one.
        words: The vocabulary, or the word of every id, most frequent first.
        top: Number of words written beside a cluster.

    Returns: A matplotlib figure.

    Raises: ImportError, without matplotlib (`pip install 'kerascompact[plot]'`).

    >>> vectors = np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> len(plot_clusters(vectors, np.array([1, 0, 1]), ["the", "goal", "a"]).axes)
    1
    """
    pyplot = require("matplotlib.pyplot", "plot")
    members = words_per_cluster(assignments, words, top)
    codebook = checks.finite("codebook", np.asarray(codebook, np.float64))
    centred = codebook - codebook.mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    places = np.pad(centred @ axes.T, ((0, 0), (0, 2 - len(axes))))  # d = 1 has one axis
    figure, plot = pyplot.subplots(figsize=(9, 7))
    sizes = [np.count_nonzero(np.asarray(assignments) == cluster) for cluster in members]
    plot.scatter(*places[list(members)].T, s=[8 + 2 * size for size in sizes], alpha=0.4)
    for cluster, frequent in members.items():
        plot.annotate(
            " ".join(frequent), places[cluster], fontsize=7, ha="center", parse_math=False
        )
    plot.set_xlabel("first principal axis of the cluster vectors")
    plot.set_ylabel("second principal axis")
    return figure
