"""k-means of short vectors in NumPy: the same centroids in every run, as an export needs them."""

import numpy as np

from kerascompact.ops.kmeans import nearest


def lloyd(
    points: np.ndarray,
    num_clusters: int,
    weights: np.ndarray | None = None,
    *,
    seed: int = 0,
    iterations: int = 25,
) -> np.ndarray:
    """Finds centroids with a small weighted squared error: k-means++, then Lloyd's iterations.

    `ops.kmeans` is for long vectors; its library adds in the order in which threads finish, so
    that two runs may differ in the last digit. Here no sum depends on threads.

    Args:
        points: Points to cluster, `(n, g)` float32 with a small `g`, at least one.
        num_clusters: Number of centroids `k`. With fewer distinct points, some are equal.
        weights: Weights of the points, `(n,)` numbers >= 0, not all 0; `None`: all 1.
        seed: Seed of the first centroids.
        iterations: Largest number of iterations.

    Returns: Centroids `(k, g)` float32.

    >>> sorted(lloyd(np.array([[0.0], [1.0], [5.0]], "float32"), 2).ravel().tolist())
    [0.5, 5.0]

    Reference: [Arthur & Vassilvitskii, SODA
    2007](http://ilpubs.stanford.edu:8090/778/1/2006-13.pdf), sec. 2.2.
    """
    points = np.asarray(points, np.float32)
    weights = np.ones(len(points)) if weights is None else np.asarray(weights, np.float64)
    centroids = _spread(points, num_clusters, weights, np.random.default_rng(seed))
    before = None
    for _ in range(iterations):
        codes = nearest(points, centroids)
        if before is not None and np.array_equal(codes, before):
            break
        centroids, before = _means(points, codes, weights, centroids), codes
    return centroids


def _spread(
    points: np.ndarray, count: int, weights: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Some points, each drawn in proportion to its squared distance to those before."""
    chosen = np.empty((count, points.shape[1]), np.float32)
    error = weights.copy()
    distance = np.full(len(points), np.inf)
    for index in range(count):
        total = np.cumsum(error)
        place = np.searchsorted(total, random.random() * total[-1], side="right")
        chosen[index] = points[min(place, len(points) - 1)]
        found = np.sum(np.square(points - chosen[index]), axis=1)
        distance = np.minimum(distance, found)
        error = weights * distance
        if not error.any():  # every point is a centroid
            chosen[index:] = chosen[index]
            break
    return chosen


def _means(
    points: np.ndarray, codes: np.ndarray, weights: np.ndarray, centroids: np.ndarray
) -> np.ndarray:
    """Weighted mean of the points of each centroid; a centroid without points stays."""
    count = len(centroids)
    mass = np.bincount(codes, weights, count)[:, None]
    sums = [np.bincount(codes, weights * column, count) for column in points.T]
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.stack(sums, axis=1) / mass
    return np.where(mass > 0, means, centroids).astype(np.float32)
