"""k-means of a table's rows, and nearest centroids for any number of rows."""

import warnings
from typing import Any

import numpy as np

from kerascompact.core.extras import require

ROWS = 8192  # at a time, whose distances are in memory


def kmeans(
    points: np.ndarray,
    num_clusters: int,
    weights: np.ndarray | None = None,
    *,
    seed: int = 0,
    iterations: int = 300,
    max_points: int | None = None,
    library: str = "scikit-learn",
) -> tuple[np.ndarray, np.ndarray]:
    """Clusters points: k-means++ or random points, then Lloyd's iterations, weighted.

    Args:
        points: Points to cluster, `(n, d)` float32.
        num_clusters: Number of clusters `k`, at most `n`.
        weights: Weights of the points, `(n,)` numbers >= 0; `None`: all 1.
        seed: Seed of the first centroids and of the sample.
        iterations: Largest number of Lloyd's iterations.
        max_points: Largest number of points to learn from, those of the largest weight, or any
            without weights. All points are assigned.
        library: "scikit-learn", which starts with k-means++; or "faiss", which starts with random
            points, for large tables.

    Returns: Number of the nearest centroid of each point, `(n,)` int32, and the centroids `(k, d)`.

    Raises: ImportError, without scikit-learn (`pip install 'kerascompact[compress]'`), or faiss
        (`pip install 'kerascompact[faiss]'`).

    >>> codes, centroids = kmeans(np.array([[0.0], [1.0], [5.0]], "float32"), 2)
    >>> sorted(centroids.ravel().tolist())
    [0.5, 5.0]
    """
    chosen: Any = slice(None)
    if max_points is not None and len(points) > max(max_points, num_clusters):
        count = max(max_points, num_clusters)
        if weights is None:
            chosen = np.random.default_rng(seed).choice(len(points), count, replace=False)
        else:
            chosen = np.argsort(-weights, kind="stable")[:count]
    if library == "faiss":
        share = None if weights is None else weights[chosen].astype(np.float32)
        return _by_faiss(points, points[chosen], num_clusters, share, seed, iterations)
    cluster = require("sklearn.cluster", "compress")
    exceptions = require("sklearn.exceptions", "compress")
    means = cluster.KMeans(num_clusters, n_init=1, max_iter=iterations, random_state=seed)
    with warnings.catch_warnings():
        # With fewer distinct points than centroids some centroids are equal, which costs nothing.
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)
        means.fit(points[chosen], sample_weight=None if weights is None else weights[chosen])
    centroids = means.cluster_centers_.astype(np.float32)
    return nearest(points, centroids), centroids


def _by_faiss(
    points: np.ndarray,
    learnt: np.ndarray,
    num_clusters: int,
    weights: np.ndarray | None,
    seed: int,
    iterations: int,
) -> tuple[np.ndarray, np.ndarray]:
    """k-means by faiss, which reads contiguous float32."""
    faiss = require("faiss", "faiss")
    learnt = np.ascontiguousarray(learnt, np.float32)
    means = faiss.Kmeans(
        learnt.shape[1],
        num_clusters,
        niter=iterations,
        seed=seed + 1,  # 0 would be a seed by the clock
        min_points_per_centroid=1,
        max_points_per_centroid=len(learnt),  # all: they are chosen already
    )
    means.train(learnt, weights=weights)
    found = means.assign(np.ascontiguousarray(points, np.float32))[1]
    return found.astype(np.int32), np.array(means.centroids, np.float32)


def nearest(points: np.ndarray, centroids: np.ndarray) -> np.ndarray:
    """The nearest centroid of each point, `(n,)` int32; the first one of several.

    >>> nearest(np.array([[0.1], [0.9]]), np.array([[0.0], [1.0]])).tolist()
    [0, 1]
    """
    middle = centroids.mean(axis=0)  # around it squares are small, and their differences exact
    centroids = centroids - middle
    half = 0.5 * np.sum(np.square(centroids), axis=1)
    codes = np.empty(len(points), np.int32)
    for start in range(0, len(points), ROWS):
        rows = slice(start, start + ROWS)
        codes[rows] = np.argmax((points[rows] - middle) @ centroids.T - half, axis=1)
    return codes
