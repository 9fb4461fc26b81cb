"""Additive codes of a table: greedy search, then joint refinement.

`E[i] ~ sum_j W^j[c_i^j]`. None of three steps increases the squared error: `residual` finds first
codes, `descend` updates the codes one position at a time, and `refit` updates all codebooks
together.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from kerascompact.core.extras import require
from kerascompact.ops.kmeans import kmeans

ROWS = 4096  # at a time, so that their vectors stay in the cache for all positions


def residual(
    table: np.ndarray,
    cardinality: int,
    stages: Iterable[int],
    weights: np.ndarray | None = None,
    *,
    seed: int = 0,
    iterations: int = 10,
    max_points: int = 65_536,
) -> tuple[np.ndarray, np.ndarray]:
    """Residual quantization: each codebook is k-means on the residuals of the ones before.

    Args:
        table: Table of vectors, `(V, d)` float32.
        cardinality: Number of codes `K` of a codebook.
        stages: Positions `0 ... D - 1`, such as `range(D)`, perhaps with a progress bar.
        weights: Weights of the words' errors, `(V,)`; `None`: all 1.
        seed: Seed of k-means.
        iterations: Largest number of iterations of k-means.
        max_points: Largest number of rows that k-means learns from.

    Returns: Codes `(V, D)` int32, codebooks `(D, K, d)` float32.

    >>> codes, books = residual(np.array([[0], [1], [8], [9]], "float32"), 2, range(2))
    >>> reconstruct(codes, books).ravel().tolist()
    [0.0, 1.0, 8.0, 9.0]

    Reference: [Chen et al., Sensors 2010](https://doi.org/10.3390/s101211259), sec. 3.
    """
    rest, codes, codebooks = table.copy(), [], []
    for stage in stages:
        found, centroids = kmeans(
            rest,
            cardinality,
            weights,
            seed=seed + stage,
            iterations=iterations,
            max_points=max_points,
        )
        rest -= centroids[found]
        codes.append(found)
        codebooks.append(centroids)
    return np.stack(codes, axis=1), np.stack(codebooks)


def reconstruct(codes: np.ndarray, codebooks: np.ndarray) -> np.ndarray:
    """The vectors `(n, d)` of codes `(n, D)`: `sum_j W^j[c^j]`.

    >>> reconstruct(np.array([[0, 1]]), np.array([[[1.0], [2.0]], [[10.0], [20.0]]])).tolist()
    [[21.0]]
    """
    vectors = codebooks[0][codes[:, 0]]
    for position in range(1, codes.shape[1]):
        vectors += codebooks[position][codes[:, position]]
    return vectors


def error(
    table: np.ndarray, codes: np.ndarray, codebooks: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Squared error of the codes, relative to that of zeros: 0 is exact.

    >>> error(np.array([[2.0]]), np.array([[0]]), np.array([[[1.0]]]))
    0.25
    """
    lost = whole = 0.0
    for start in range(0, len(table), ROWS):
        rows = slice(start, start + ROWS)
        rest = table[rows] - reconstruct(codes[rows], codebooks)
        weight = 1.0 if weights is None else weights[rows]
        lost += np.sum(weight * np.sum(np.square(rest), axis=1, dtype=np.float64))
        whole += np.sum(weight * np.sum(np.square(table[rows]), axis=1, dtype=np.float64))
    return float(lost / whole) if whole else 0.0


def descend(
    table: np.ndarray, codes: np.ndarray, codebooks: np.ndarray, order: Iterable[int]
) -> np.ndarray:
    """Updates the codes position by position, each with the others fixed.

    Also known as iterated conditional modes: `c_i^j <- argmin_k ||E[i] - sum_l W^l[c_i^l]||` over
    `c_i^j` alone.

    Args:
        table: Table of vectors, `(V, d)` float32.
        codes: `(V, D)`, to start from.
        codebooks: Codebooks, `(D, K, d)` float32.
        order: Positions to update, in `[0, D)`.

    Returns: Codes `(V, D)` int32.

    >>> books = np.array([[[0.0], [1.0]], [[0.0], [5.0]]])
    >>> descend(np.array([[6.0]]), np.array([[0, 0]]), books, [1, 0]).tolist()
    [[1, 1]]

    Reference: [Martinez et al., ECCV 2018](https://openaccess.thecvf.com/content_ECCV_2018/html/Julieta_Martinez_LSQ_lower_runtime_ECCV_2018_paper.html),
    sec. 2.
    """
    order = list(order)
    half = 0.5 * np.sum(np.square(codebooks), axis=2)  # (D, K)
    codes = codes.astype(np.int32)
    for start in range(0, len(table), ROWS):
        rows = slice(start, start + ROWS)
        chosen = codes[rows]  # a view
        rest = table[rows] - reconstruct(chosen, codebooks)
        for position in order:
            book = codebooks[position]
            rest += book[chosen[:, position]]
            chosen[:, position] = np.argmax(rest @ book.T - half[position], axis=1)
            rest -= book[chosen[:, position]]
    return codes


def refit(
    table: np.ndarray,
    codes: np.ndarray,
    codebooks: np.ndarray,
    weights: np.ndarray | None = None,
    steps: int = 10,
) -> np.ndarray:
    """Fits all codebooks to given codes by least squares.

    The optimum solves `B^T N B W = B^T N E`, with `B: (V, D K)` the one-hot codes and `N` the
    weights. Conjugate gradients start from the given codebooks: each step lowers the error,
    and none needs more memory than the table.

    Args:
        table: Table of vectors, `(V, d)` float32.
        codes: Codes of the rows, `(V, D)`.
        codebooks: Codebooks to start from, `(D, K, d)` float32.
        weights: Weights of the words' errors, `(V,)`; `None`: all 1.
        steps: Number of steps of conjugate gradients.

    Returns: codebooks `(D, K, d)` float32.

    >>> refit(np.array([[1.0], [3.0]]), np.array([[0], [0]]), np.zeros((1, 2, 1))).ravel().tolist()
    [2.0, 0.0]

    Reference: [Babenko & Lempitsky, CVPR 2014](https://openaccess.thecvf.com/content_cvpr_2014/html/Babenko_Additive_Quantization_for_2014_CVPR_paper.html),
    sec. 3.
    """
    sparse = require("scipy.sparse", "compress")
    words, length = codes.shape
    columns = (codes + np.arange(length) * codebooks.shape[1]).ravel()
    starts = np.arange(words + 1) * length
    size = (words, codebooks.shape[0] * codebooks.shape[1])
    one_hot = sparse.csr_matrix((np.ones(words * length, np.float32), columns, starts), shape=size)
    start = codebooks.reshape(size[1], -1)
    return least_squares(one_hot, table, start, weights, steps).reshape(codebooks.shape)


def least_squares(
    matrix: Any,
    table: np.ndarray,
    start: np.ndarray,
    weights: np.ndarray | None = None,
    steps: int = 10,
) -> np.ndarray:
    """Lowers `sum_i n_i ||E[i] - M[i] X||^2` by conjugate gradients.

    Args:
        matrix: Matrix `M` `(V, b)`, SciPy sparse, float32.
        table: Table `E` `(V, d)` float32.
        start: `X` `(b, d)` to start from.
        weights: Weights `n` `(V,)` of the rows; `None`: all 1.
        steps: Number of steps of conjugate gradients.

    >>> matrix = require("scipy.sparse", "compress").csr_matrix(np.ones((2, 1), np.float32))
    >>> least_squares(matrix, np.array([[1.0], [3.0]]), np.zeros((1, 1))).tolist()
    [[2.0]]
    """
    weight = np.ones((len(table), 1), np.float32)
    if weights is not None:
        weight = (weights / weights.mean()).astype(np.float32)[:, None]
    # Preconditioned by the diagonal.
    often = np.maximum(matrix.multiply(matrix).T @ weight, 1e-12)
    solution = start.astype(np.float32)
    rest = table - matrix @ solution
    direction: Any = 0.0
    before = None
    for _ in range(steps):
        gradient = matrix.T @ (weight * rest)
        downhill = gradient / often
        slope = np.sum(gradient * downhill, axis=0, dtype=np.float64)
        left = np.sum(weight * np.square(rest), axis=0, dtype=np.float64)
        # Less than this is rounding error. Additive codebooks are never unique (a vector moved from
        # one to another changes no sum), so rounding errors would let them drift far.
        slope = np.where(slope > 1e-10 * left, slope, 0)
        if not slope.any():
            break
        direction = downhill + (0.0 if before is None else _ratio(slope, before) * direction)
        change = matrix @ direction
        curvature = np.sum(weight * np.square(change), axis=0, dtype=np.float64)
        step = _ratio(slope, curvature)
        solution += step * direction
        rest -= step * change
        before = slope
    return solution


def _ratio(above: Any, below: Any) -> np.ndarray:
    """Their ratio, 0 where there is nothing left to divide by, as float32."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0).astype(np.float32)
