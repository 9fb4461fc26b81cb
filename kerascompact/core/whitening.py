"""Whitening: the linear map after which the columns of data have variance 1 and no correlation."""

from collections.abc import Iterable

import numpy as np


def whitening(
    parts: Iterable[tuple[np.ndarray, np.ndarray]], epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Mean `mu` and symmetric map `(S + epsilon I)^(-1/2)` of weighted rows, `S` their covariance.

    Args:
        parts: Rows `(n, d)` and the weight of each `(n,)`; all weights have the sum 1.
        epsilon: Added to each variance.

    Returns: float64 `(d,)` and `(d, d)`.

    >>> rows = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> mean, whitener = whitening([(rows, np.full(4, 0.25))], 1e-9)
    >>> np.var(rows @ whitener, axis=0).round(6).tolist()
    [1.0, 1.0]
    """
    mean: np.ndarray | float = 0.0
    squares: np.ndarray | float = 0.0
    for rows, weights in parts:
        weighted = weights[:, None].astype(rows.dtype) * rows
        mean = mean + weighted.sum(axis=0, dtype=np.float64)
        squares = squares + weighted.T @ rows
    values, axes = np.linalg.eigh(squares - np.outer(mean, mean))
    scales = (np.maximum(values, 0) + epsilon) ** -0.5
    return np.asarray(mean), (axes * scales) @ axes.T
