"""Selection of the largest entries of an array."""

import numpy as np


def largest_entries(array: np.ndarray, count: int) -> np.ndarray:
    """Mask of the `count` entries with the largest absolute values, of the array's shape.

    >>> largest_entries(np.array([[3.0, -4.0], [1.0, 0.0]]), 2).tolist()
    [[True, True], [False, False]]
    """
    found = np.zeros(array.size, bool)
    if count > 0:
        sizes = np.abs(array.reshape(-1))
        found[np.argpartition(-sizes, min(count, array.size) - 1)[:count]] = True
    return found.reshape(array.shape)


def entries_left(size: int, sparsity: float) -> int:
    """Number of entries out of `size` that a sparsity leaves.

    >>> entries_left(200, 0.9)
    20
    """
    return round(size * (1 - sparsity))
