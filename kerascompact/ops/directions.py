"""Unit vectors that a dot product can tell apart."""

import numpy as np

STEPS = 200
MOST_PUSHED = 1024  # vectors at most, since each step computes all pairs


def most_directions(width: int, count: int) -> int:
    """Number of directions, at most `count`, that a float32 dot product can tell apart.

    There are two on a line; on a circle or sphere neighbours are 1 / 1,024 of it apart.

    >>> most_directions(1, 16), most_directions(2, 16), most_directions(2, 65_536)
    (2, 16, 1024)
    """
    return min(count, 2 if width == 1 else MOST_PUSHED if width <= 4 else count)


def spread_directions(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors in the directions of vectors from their mean, pushed apart.

    Each has a larger dot product with itself than with any other: `argmax_k u_i . u_k = i`.

    Args:
        vectors: Vectors `(K, w)`, at most `most_directions(w, K)` of them.

    Returns: `(K, w)` float32.

    >>> unit = spread_directions(np.array([[1.0, 0.0], [2.0, 0.1], [9.0, 1.0]]))
    >>> np.argmax(unit @ unit.T, axis=1).tolist()
    [0, 1, 2]
    """
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    count, width = vectors.shape
    if width == 1:
        order = np.argsort(np.argsort(centred[:, 0], kind="stable"))
        return np.where(order == 0, -1.0, 1.0)[:, None].astype(np.float32)
    if width == 2:  # evenly around the circle, in their order
        angles = np.arctan2(centred[:, 1], centred[:, 0])
        order = np.argsort(np.argsort(angles, kind="stable"))
        angles = 2 * np.pi * order / count
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    # A little fixed noise separates equal vectors.
    noise = np.random.default_rng(0).normal(size=vectors.shape)
    unit = _unit(centred + 1e-3 * (centred.std() + 1e-12) * noise)
    if count > MOST_PUSHED:
        return unit.astype(np.float32)
    for step in range(STEPS):
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -np.inf)
        # The force falls steeply with the distance.
        push = np.exp(16 * (cosines - cosines.max(axis=1, keepdims=True)))
        push /= push.sum(axis=1, keepdims=True)
        unit = _unit(unit - 0.3 * (1 - step / STEPS) * (push @ unit))
    return unit.astype(np.float32)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
