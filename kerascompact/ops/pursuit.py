"""Orthogonal matching pursuit: sparse weights of anchors for many points at once."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from kerascompact.core.extras import require

NUMBERS = 2**23  # in memory at a time, in float64
NOTHING = 1e-6  # share of a point's length that no further anchor is worth


def pursue(points: np.ndarray, anchors: np.ndarray, count: int | np.ndarray) -> Any:
    """Gives each point the weights of a few anchors, a SciPy csr matrix `(n, |A|)`.

    Args:
        points: Points `(n, d)`.
        anchors: Anchors `(|A|, d)` of length 1, or 0.
        count: Largest number of anchors of a point, for all or for each `(n,)`.

    >>> pursue(np.array([[3.0, 1.0]]), np.eye(2), 1).toarray().tolist()
    [[3.0, 0.0]]

    Reference: [Pati et al., 1993](https://doi.org/10.1109/ACSSC.1993.342465).
    """
    sparse = require("scipy.sparse", "compress")
    # No point needs more anchors than it has numbers.
    most = min(points.shape[1], len(anchors))
    counts = np.minimum(np.broadcast_to(np.asarray(count), len(points)), most)
    parts = []
    for rows in _parts(len(points), len(anchors), int(counts.max(initial=0))):
        weights = np.zeros((len(counts[rows]), len(anchors)))
        for _ in _steps(points[rows], anchors, counts[rows], weights):
            pass
        parts.append(sparse.csr_matrix(weights))
    return sparse.vstack(parts, format="csr")


def shared_entries(
    points: np.ndarray, anchors: np.ndarray, weights: np.ndarray | None, total: int, most: int
) -> np.ndarray:
    """Shares weights of anchors among points: those that lessen the weighted error most.

    `sum_i w_i ||x_i - x'_i||^2` falls by each anchor that a pursuit adds to a point. The `total`
    largest of these gains are taken; where a later anchor gains more than one before it, both count
    as the smaller gain.

    Args:
        points: Points `(n, d)`.
        anchors: Anchors `(|A|, d)` of length 1, or 0.
        weights: Weights of the errors `(n,)`; `None`: all 1.
        total: Number of weights of all points together.
        most: Largest number of anchors of a point.

    Returns: Number of anchors of each point, `(n,)`.

    >>> points = np.array([[3.0, 2.0], [1.0, 0.5]])
    >>> shared_entries(points, np.eye(2), None, total=3, most=2).tolist()
    [2, 1]
    """
    most = min(most, points.shape[1], len(anchors))
    gains = np.zeros((len(points), most), np.float32)
    for rows in _parts(len(points), len(anchors), most):
        before = np.square(points[rows].astype(np.float64)).sum(axis=1)
        counts = np.full(len(before), most)
        for step, after in enumerate(_steps(points[rows], anchors, counts)):
            gains[rows, step] = before - after
            before = after
    gains = np.minimum.accumulate(gains, axis=1)
    if weights is not None:
        gains *= (weights / weights.max())[:, None].astype(np.float32)
    taken = np.argsort(-gains, axis=None, kind="stable")[:total] // most
    return np.bincount(taken, minlength=len(points))


def _steps(
    points: np.ndarray,
    anchors: np.ndarray,
    counts: np.ndarray,
    weights: np.ndarray | None = None,
) -> Iterator[np.ndarray]:
    """Adds an anchor to each point, again and again; yields the squared errors left, `(n,)`.

    Args:
        points: Points `(n, d)`.
        anchors: Anchors `(|A|, d)`.
        counts: Largest number of anchors of each point, `(n,)`.
        weights: Zeros `(n, |A|)`, which are filled in.
    """
    sparse = require("scipy.sparse", "compress")
    points, anchors = points.astype(np.float64), anchors.astype(np.float64)
    gram, products = anchors @ anchors.T, points @ anchors.T
    squares = np.square(points).sum(axis=1)
    slopes, left = products.copy(), squares.copy()
    chosen = np.zeros((len(points), int(counts.max(initial=0))), np.int64)
    going = np.arange(len(points))
    for step in range(chosen.shape[1]):
        going = going[counts[going] > step]
        best = np.abs(slopes[going]).argmax(axis=1)
        worth = np.abs(slopes[going, best]) > NOTHING * np.sqrt(squares[going])
        going, best = going[worth], best[worth]
        chosen[going, step] = best
        own = chosen[going, : step + 1]
        wanted = np.take_along_axis(products[going], own, axis=1)
        solved = np.linalg.solve(gram[own[:, :, None], own[:, None, :]], wanted[..., None])[..., 0]
        if weights is not None:
            weights[going[:, None], own] = solved
        starts = np.arange(0, own.size + 1, step + 1)
        shape = (len(going), len(anchors))
        used = sparse.csr_matrix((solved.reshape(-1), own.reshape(-1), starts), shape)
        slopes[going] = products[going] - used @ gram
        slopes[going[:, None], own] = 0  # but for rounding
        left[going] = np.maximum(squares[going] - (solved * wanted).sum(axis=1), 0)
        yield left.copy()


def _parts(count: int, num_anchors: int, most: int) -> list[slice]:
    """Points that are worked on together."""
    size = max(1, NUMBERS // (4 * num_anchors + most * most))
    return [slice(start, start + size) for start in range(0, count, size)]
