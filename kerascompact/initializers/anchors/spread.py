"""Anchors spread over a space of vectors: k-means++ and coresets."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.initializers.anchors.scored import frequency_anchors, ids_of, weights_of

# Squared distances below this share of the norms they are the difference of are rounding errors.
_ROUNDING = 1e-6


def kmeans_anchors(
    table: Any,
    num_anchors: int,
    counts: Any = None,
    exclude: Iterable[int] = (),
    first: Iterable[int] = (),
    seed: int = 0,
) -> np.ndarray:
    """Objects spread over a space of vectors, by the seeding of k-means++.

    `D(x) = min_{c in C} ||x - c||`; the next anchor is `x` with probability `~ w_x D(x)^2`. The
    first is drawn with probability `~ w_x`.

    Args:
        table: A vector for each object, `(V, d)`: pre-trained word vectors, or the rows of a SciPy
            sparse matrix of co-occurrence counts.
        num_anchors: Number of anchors `|A|`, including those of `first`.
        counts: Weights `w`, `(V,)`, such as how often each object occurs; `None`: all 1.
        exclude: Ids that cannot be anchors.
        first: Initial anchors, such as the most frequent objects.
        seed: Seed of the draws.
    Returns: `(|A|,)` int32, distinct, in the order drawn.
    Raises: ValueError, if an argument is out of its range, or the table has too few different rows
        of a weight above 0.
    Example:
    >>> sorted(kmeans_anchors(np.array([[0.0], [0.0], [5.0]]), 2, exclude=[0]).tolist())
    [1, 2]

    Reference: [Arthur & Vassilvitskii, SODA 2007](https://dl.acm.org/doi/10.5555/1283383.1283494),
    sec. 2.2; for anchors: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.1.
    """
    points, squares = _points(table)
    weights = _weights(counts, exclude, len(squares))
    chosen = [int(id) for id in ids_of("first", first, len(squares))]
    num_anchors = checks.integer_in("num_anchors", num_anchors, max(1, len(chosen)), len(squares))
    random = np.random.default_rng(checks.integer_in("seed", seed, 0))
    distances = np.full(len(squares), np.inf)
    for id in chosen:
        distances = np.minimum(distances, _squared_distances(points, squares, id))
    while len(chosen) < num_anchors:
        likely = weights * (distances if chosen else 1.0)
        if not likely.any():
            checks.fail("num_anchors", f"at most {len(chosen)}, the distinct rows", num_anchors)
        id = int(random.choice(len(likely), p=likely / likely.sum()))
        chosen.append(id)
        distances = np.minimum(distances, _squared_distances(points, squares, id))
    return np.array(chosen, np.int32)


def frequency_then_clusters(
    counts: Any,
    table: Any,
    num_frequent: int,
    num_anchors: int,
    exclude: Iterable[int] = (),
    seed: int = 0,
) -> np.ndarray:
    """The most frequent objects, then ones that are far from them, by k-means++.

    Args:
        counts: How often each id occurs, `(V,)`; they do not weight the draws.
        table: A vector for each object, see `kmeans_anchors`.
        num_frequent: Number of anchors chosen by frequency.
        num_anchors: Number of anchors `|A|`, at least `num_frequent`.
        exclude: Ids that cannot be anchors.
        seed: Seed of the draws.
    Returns: `(|A|,)` int32, distinct.
    Raises: ValueError, if an argument is out of its range, or too few objects are left.
    Example:
    >>> table = np.array([[0.0], [0.1], [5.0]])
    >>> frequency_then_clusters([1, 9, 1], table, 1, 3).tolist()[0]
    1

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.1, fig. 2.
    """
    exclude = list(exclude)
    frequent = frequency_anchors(counts, num_frequent, exclude)
    return kmeans_anchors(table, num_anchors, exclude=exclude, first=frequent, seed=seed)


def coreset_anchors(
    table: Any, num_anchors: int, counts: Any = None, exclude: Iterable[int] = (), seed: int = 0
) -> np.ndarray:
    """A lightweight coreset: a sample whose k-means clusters are about those of all objects.

    `q(x) = w_x / (2 sum_x' w_x') + w_x d(x, mu)^2 / (2 sum_x' w_x' d(x', mu)^2)`, `mu` the mean.
    Two passes over the table, however many anchors there are.

    Args:
        table: A vector for each object, `(V, d)`, or a SciPy sparse matrix.
        num_anchors: Number of anchors `|A|`.
        counts: Weights `w`, `(V,)`; `None`: all 1.
        exclude: Ids that cannot be anchors.
        seed: Seed of the draws.
    Returns: `(|A|,)` int32, distinct, in the order drawn.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> len(set(coreset_anchors(np.random.default_rng(0).normal(size=(50, 3)), 20).tolist()))
    20

    Reference: [Bachem et al., KDD 2018](https://arxiv.org/abs/1702.08248), algorithm 1.
    Differs: drawn without replacement, since an object is an anchor once; the weights that the
    sample has in the coreset are not needed.
    """
    points, squares = _points(table)
    weights = _weights(counts, exclude, len(squares))
    num_anchors = checks.integer_in("num_anchors", num_anchors, 1, int(np.count_nonzero(weights)))
    random = np.random.default_rng(checks.integer_in("seed", seed, 0))
    share = weights / weights.sum()
    mean = np.asarray(points.T @ share).ravel()
    distances = np.maximum(squares - 2 * (points @ mean) + mean @ mean, 0)
    spread = share @ distances
    sensitivity = share if spread == 0 else share / 2 + share * distances / (2 * spread)
    drawn = random.choice(len(share), num_anchors, replace=False, p=sensitivity / sensitivity.sum())
    return drawn.astype(np.int32)


def _weights(counts: Any, exclude: Iterable[int], count: int) -> np.ndarray:
    weights = np.ones(count) if counts is None else weights_of("counts", counts, count).copy()
    weights[ids_of("exclude", exclude, count)] = 0
    return weights


def _points(table: Any) -> tuple[Any, np.ndarray]:
    """The rows of a dense or sparse table, and their squared norms."""
    if hasattr(table, "tocsr"):
        points = table.tocsr().astype(np.float64)
        checks.finite("table", points.data)
        return points, np.asarray(points.multiply(points).sum(axis=1)).ravel()
    points = np.asarray(table)
    if points.ndim != 2 or not np.issubdtype(points.dtype, np.number) or not len(points):
        checks.fail("table", "numbers of the shape (objects, width)", points.shape)
    points = points if np.issubdtype(points.dtype, np.floating) else points.astype(np.float64)
    points = points.astype(np.float32) if points.dtype.itemsize < 4 else points
    checks.finite("table", points)
    return points, np.einsum("ij,ij->i", points, points, dtype=np.float64)


def _squared_distances(points: Any, squares: np.ndarray, id: int) -> np.ndarray:
    if isinstance(points, np.ndarray):
        products = points @ points[id]
    else:
        products = (points @ points[[id]].T).toarray().ravel()
    scale = squares + squares[id]
    found = scale - 2 * products
    return np.where(found > _ROUNDING * scale, found, 0)  # a copy of the anchor is never drawn
