"""k-SVD of a table: a dictionary of anchors, and sparse codes in it."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kerascompact.ops.kmeans import kmeans
from kerascompact.ops.pursuit import pursue, shared_entries


def k_svd(
    table: np.ndarray,
    num_anchors: int,
    num_neighbors: int,
    weights: np.ndarray | None = None,
    *,
    max_neighbors: int | None = None,
    iterations: int = 10,
    seed: int = 0,
    max_points: int = 65_536,
    steps: Callable[[int, str], Iterable[int]] = lambda count, what: range(count),
) -> tuple[Any, np.ndarray]:
    """Finds sparse weights and anchors with a small `sum_i ||E[i] - T[i] A||^2`.

    Args:
        table: Table of vectors, `(V, d)` float32.
        num_anchors: Number of anchors `|A|`, at most `V`.
        num_neighbors: Number of entries `s` in a row of `T`, at most `|A|`.
        weights: Weights of the words' errors, `(V,)`; `None`: all 1.
        max_neighbors: Largest number of entries of a row, if the rows share `s V` entries by what
            these gain, see `shared_entries`; `None`: each row has `s`.
        iterations: Number of rounds of fitting weights and anchors.
        seed: Seed of the first centroids.
        max_points: Largest number of rows that the anchors are fitted to.
        steps: Function that returns `range(count)`, perhaps with a progress bar.

    Returns: `T` `(V, |A|)`, a SciPy csr matrix, and `A` `(|A|, d)` float32 of length 1.

    >>> table = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]], "float32")
    >>> transform, anchors = k_svd(table, 2, 1)
    >>> (transform @ anchors).round(4).tolist()
    [[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]]

    Reference: [Aharon et al., TSP 2006](https://doi.org/10.1109/TSP.2006.881199), sec. IV.
    """
    _, start = kmeans(table, num_anchors, weights, seed=seed, max_points=max_points)
    chosen, shares = _fitted(table, weights, max(max_points, num_anchors), seed)
    points, anchors = table[chosen].astype(np.float64), _unit(start.astype(np.float64))
    count: int | np.ndarray = num_neighbors

    if max_neighbors is not None:
        total = num_neighbors * len(table)
        count = shared_entries(table, anchors, weights, total, max_neighbors)[chosen]
    for _ in steps(iterations, "k-SVD"):
        _fit_anchors(points, shares, pursue(points, anchors, count).tocsc(), anchors)
    if max_neighbors is not None:
        count = shared_entries(table, anchors, weights, total, max_neighbors)
    return pursue(table, anchors, count), anchors.astype(np.float32)


def _fitted(
    table: np.ndarray, weights: np.ndarray | None, most: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that anchors are fitted to, and their weights."""
    shares = np.ones(len(table)) if weights is None else weights / weights.max()
    chosen = np.arange(len(table))
    if len(table) > most and weights is None:
        chosen = np.random.default_rng(seed).choice(len(table), most, replace=False)
    elif len(table) > most:
        chosen = np.argsort(-shares, kind="stable")[:most]
    return chosen, shares[chosen]


def _fit_anchors(
    points: np.ndarray, weights: np.ndarray, transform: Any, anchors: np.ndarray
) -> None:
    """Updates anchors one by one to fit weighted points better.

    Each anchor's entries keep their places and are updated with it, until the next pursuit.
    """
    rest = points - transform @ anchors
    for k in range(len(anchors)):
        entries = slice(transform.indptr[k], transform.indptr[k + 1])
        rows = transform.indices[entries]
        own = transform.data[entries]
        if not len(rows):
            worst = np.argmax(weights * np.sum(np.square(rest), axis=1))
            if np.any(rest[worst]):
                anchors[k] = _unit(points[None, worst])[0]
                rest[worst] = 0  # so that the next one is another
            continue
        wanted = rest[rows] + own[:, None] * anchors[k]
        direction = (weights[rows] * own) @ wanted
        length = np.linalg.norm(direction)
        if length > 0:
            anchors[k] = direction / length
        rest[rows] = wanted - np.outer(wanted @ anchors[k], anchors[k])


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1, which matching pursuit compares; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
