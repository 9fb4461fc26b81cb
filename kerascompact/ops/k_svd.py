"""k-SVD of a table: a dictionary of anchors, and sparse codes in it."""

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kerascompact.core.extras import require
from kerascompact.ops.kmeans import ROWS, kmeans


def k_svd(
    table: np.ndarray,
    num_anchors: int,
    num_neighbors: int,
    weights: np.ndarray | None = None,
    *,
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
    points, shares = _points(table, weights, max(max_points, num_anchors), seed)
    anchors = _unit(start.astype(np.float64))
    for _ in steps(iterations, "k-SVD"):
        transform = pursue(points, anchors, num_neighbors)
        _fit_anchors(points, shares, transform.tocsc(), anchors)
    return pursue(table, anchors, num_neighbors), anchors.astype(np.float32)


def _points(
    table: np.ndarray, weights: np.ndarray | None, most: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """The rows that anchors are fitted to, and their weights."""
    shares = np.ones(len(table)) if weights is None else weights / weights.max()
    chosen = np.arange(len(table))
    if len(table) > most and weights is None:
        chosen = np.random.default_rng(seed).choice(len(table), most, replace=False)
    elif len(table) > most:
        chosen = np.argsort(-shares, kind="stable")[:most]
    return table[chosen].astype(np.float64), shares[chosen]


def pursue(points: np.ndarray, anchors: np.ndarray, count: int) -> Any:
    """The `s` weights of each point by orthogonal matching pursuit, a SciPy csr matrix."""
    linear_model = require("sklearn.linear_model", "compress")
    sparse = require("scipy.sparse", "compress")
    gram, parts = anchors @ anchors.T, []
    # No point needs more anchors than it has numbers.
    count = min(count, points.shape[1])
    with warnings.catch_warnings():
        # A point that fewer anchors give exactly: nothing is lost.
        warnings.filterwarnings("ignore", "Orthogonal matching pursuit ended", RuntimeWarning)
        for start in range(0, len(points), ROWS):
            products = anchors @ points[start : start + ROWS].T
            found = linear_model.orthogonal_mp_gram(gram, products, n_nonzero_coefs=count)
            parts.append(sparse.csr_matrix(found.reshape(len(anchors), -1).T))
    return sparse.vstack(parts, format="csr")


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
