"""Reading learned clusters: the words in each, and a picture of where they lie."""

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
        top: Words per cluster at most.

    Returns: Cluster -> words, the largest cluster first; clusters without words are left out.

    >>> words_per_cluster(np.array([1, 0, 1, -1]), ["the", "goal", "a", "bank"])
    {1: ['the', 'a'], 0: ['goal']}

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), Table 4.
    """
    checks.integer_in("top", top, 1)
    if isinstance(words, Vocabulary):
        words = [words.word_of(id) for id in range(len(words))]
    assignments = np.asarray(assignments)
    if assignments.shape != (len(words),):
        checks.fail("words", f"a list of {assignments.size} words, one per assignment", words)
    clusters, sizes = np.unique(assignments[assignments >= 0], return_counts=True)
    order = clusters[np.argsort(-sizes, kind="stable")]
    return {int(c): [words[i] for i in np.flatnonzero(assignments == c)[:top]] for c in order}


def plot_clusters(
    codebook: np.ndarray, assignments: np.ndarray, words: Vocabulary | Sequence[str], top: int = 3
) -> Any:
    """Draws clusters on the two principal axes of their vectors, with their frequent words.

    A dot's area is the number of words in the cluster.

    Args:
        codebook: Cluster vectors `(k, d)`.
        assignments, words, top: As in `words_per_cluster`.

    Returns: A matplotlib figure.

    Raises: ImportError, without matplotlib (`pip install 'kerascompact[plot]'`).
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
        plot.annotate(" ".join(frequent), places[cluster], fontsize=7, ha="center")
    plot.set_xlabel("first principal axis of the cluster vectors")
    plot.set_ylabel("second principal axis")
    return figure
