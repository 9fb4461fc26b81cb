"""Fit of hash embeddings to a table: vectors of buckets and weights of words."""

import numpy as np

from kerascompact.core.extras import require
from kerascompact.ops.additive import least_squares
from kerascompact.ops.nearest import least_squares_on

ROUNDS = 20


def shared_buckets(
    table: np.ndarray, places: np.ndarray, num_buckets: int, importance: bool, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Finds buckets `B` and weights `p` with a small `sum_i ||E[i] - sum_j p_ij B[h_j(i)]||^2`.

    Alternates between the best buckets for the weights, by conjugate gradients, and the best
    weights for the buckets; no step increases the error. Without weights of words, only buckets are
    fitted.

    Args:
        table: Table of vectors, `(V, d)` float32.
        places: Buckets `h` of each word, `(V, k)`.
        num_buckets: Number of buckets `b`.
        importance: Whether words have weights.
        seed: Seed of the first weights, which are around `1 / sqrt(k)`.

    Returns: `B` `(b, d)` and `p` `(V, k)`, float32.

    >>> table = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 3.0]], "float32")
    >>> buckets, weights = shared_buckets(table, np.array([[0], [0], [1]]), 2, importance=True)
    >>> (weights * buckets[[0, 0, 1]]).round(4).tolist()
    [[1.0, 2.0], [2.0, 4.0], [0.0, 3.0]]
    """
    sparse = require("scipy.sparse", "compress")
    words, hashes = places.shape
    weights = np.ones((words, hashes), np.float32)
    if importance:
        noise = np.random.default_rng(seed).normal(1, 0.1, weights.shape)
        weights = (noise / np.sqrt(hashes)).astype(np.float32)
    buckets = np.zeros((num_buckets, table.shape[1]), np.float32)
    starts = np.arange(words + 1) * hashes
    for _ in range(ROUNDS if importance else 0):
        matrix = sparse.csr_matrix((weights.ravel(), places.ravel(), starts), (words, num_buckets))
        buckets = least_squares(matrix, table, buckets, steps=10)
        weights = least_squares_on(table, buckets[places]).astype(np.float32)
    matrix = sparse.csr_matrix((weights.ravel(), places.ravel(), starts), (words, num_buckets))
    return least_squares(matrix, table, buckets, steps=50), weights
