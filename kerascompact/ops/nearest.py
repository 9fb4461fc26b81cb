"""Nearest anchors of points, and the weights that combine them."""

import numpy as np

from kerascompact.core.extras import require


def neighbors(points: np.ndarray, anchors: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The nearest anchors of each point, `(n, s)`, and their squared distances.

    >>> neighbors(np.array([[1.0]]), np.array([[0.0], [3.0], [7.0]]), 1)[0].tolist()
    [[0]]
    """
    middle = anchors.mean(axis=0)  # around it squares are small, and their differences exact
    points, anchors = points - middle, anchors - middle
    squares = np.sum(np.square(points), axis=1)[:, None] + np.sum(np.square(anchors), axis=1)
    squares = np.maximum(squares - 2 * points @ anchors.T, 0)
    columns = np.argpartition(squares, count - 1, axis=1)[:, :count]
    return columns, np.take_along_axis(squares, columns, axis=1)


def least_squares_on(points: np.ndarray, near: np.ndarray, nonnegative: bool = False) -> np.ndarray:
    """Weights of anchors whose weighted sums are nearest to points.

    Args:
        points: Points to approximate, `(n, d)`.
        near: Anchors of each point, `(n, s, d)`.
        nonnegative: Whether weights must be at least 0.

    Returns: `(n, s)` weights.

    >>> near = np.array([[[1.0, 0.0], [0.0, 2.0]]])
    >>> least_squares_on(np.array([[3.0, -4.0]]), near).round(4).tolist()
    [[3.0, -2.0]]
    >>> least_squares_on(np.array([[3.0, -4.0]]), near, nonnegative=True).round(4).tolist()
    [[3.0, 0.0]]
    """
    values = np.empty(near.shape[:2])
    if nonnegative:
        optimize = require("scipy.optimize", "compress")
        for row, anchors, point in zip(values, near, points, strict=True):
            row[:] = optimize.nnls(anchors.T.astype(np.float64), point.astype(np.float64))[0]
        return values
    for start in range(0, len(points), 512):  # float64, some at a time
        rows = slice(start, start + 512)
        basis = near[rows].astype(np.float64)
        gram = basis @ basis.transpose(0, 2, 1)
        # For linearly dependent anchors; too small to change a determined weight.
        ridge = 1e-9 * np.trace(gram, axis1=1, axis2=2)[:, None, None] + 1e-30
        gram += ridge * np.eye(basis.shape[1])
        right = basis @ points[rows, :, None].astype(np.float64)
        values[rows] = np.linalg.solve(gram, right)[..., 0]
    return values
