"""Softmax over rows of a sparse matrix whose missing entries are zeros."""

import numpy as np


def softmax_over_zeros(rows: np.ndarray) -> np.ndarray:
    """Softmax over rows `(n, a)` as weights of the anchors, and a weight of the sum of them all.

    A row without a 0 has no weight of that sum: if all its entries were negative, `1 / Z` would be
    so large that the differences cancel.

    >>> softmax_over_zeros(np.array([[0.0, np.log(3.0)]])).round(4).tolist()
    [[0.0, 0.5, 0.25]]
    """
    rows = rows.astype(np.float64)  # differences of float32 numbers are finite
    largest = rows.max(axis=1, keepdims=True)
    weights = np.exp(rows - largest)
    with_zero = np.any(rows == 0, axis=1, keepdims=True)  # then the largest is not below 0
    base = np.where(with_zero, np.exp(-np.maximum(largest, 0)), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    return np.hstack([(weights - base) / total, base / total]).astype(np.float32)
