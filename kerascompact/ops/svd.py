"""Truncated singular value decomposition of a table."""

import numpy as np

ROWS = 8192  # at a time in float64


def low_rank_factors(
    table: np.ndarray, rank: int, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Factors `U: (V, r)` and `W: (r, d)` with the least `sum_i n_i ||E[i] - U[i] W||^2`.

    `U = E Q`, `W = Q^T`, `Q: (d, r)` the first right singular vectors of the rows
    `sqrt(n_i) E[i]`, found as eigenvectors of a `(d, d)` matrix in float64, whose size does not
    depend on the vocabulary.

    Args:
        table: Table `E` `(V, d)` float32.
        rank: Rank `r`, at most `d`.
        weights: Weights `n` `(V,)` of the rows, numbers >= 0; `None`: all 1.

    >>> u, w = low_rank_factors(np.outer([1.0, 2.0], [3.0, 4.0]).astype("float32"), 1)
    >>> (u @ w).round(4).tolist()
    [[3.0, 4.0], [6.0, 8.0]]

    Reference: [Eckart & Young, Psychometrika 1936](https://doi.org/10.1007/BF02288367).
    """
    gram = np.zeros((table.shape[1], table.shape[1]))
    for start in range(0, len(table), ROWS):
        rows = table[start : start + ROWS].astype(np.float64)
        weighted = rows if weights is None else rows * weights[start : start + ROWS, None]
        gram += weighted.T @ rows
    _, vectors = np.linalg.eigh(gram)  # in ascending order
    kernel = vectors[:, : -rank - 1 : -1].T  # (r, d), orthonormal rows
    return table @ kernel.T.astype(np.float32), kernel.astype(np.float32)
