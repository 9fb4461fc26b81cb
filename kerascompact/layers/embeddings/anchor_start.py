"""Start of an anchor embedding from a trained table: anchors and a sparse transform."""

import numpy as np

from kerascompact.core import checks
from kerascompact.layers.embeddings.anchor_sets import AnchorSets
from kerascompact.ops.k_svd import k_svd
from kerascompact.ops.kmeans import ROWS, kmeans
from kerascompact.ops.nearest import least_squares_on, neighbors


def anchor_start(
    table: np.ndarray, sets: AnchorSets, nonnegative: bool, seed: int = 0
) -> tuple[np.ndarray, list[np.ndarray | None]]:
    """Approximates each row by `s` near anchors, `s = |A| / 50`, at least 10, as in the paper.

    With signed weights, anchors and weights are those of `compress.KSVD`. With non-negative
    weights, anchors are k-means centroids, with the best weights of the nearest ones. A set whose
    anchors are given as words or vectors keeps them.

    Args:
        table: Table of vectors, `(V, d)` float32.
        sets: Sizes of the sets, and their anchors if given.
        nonnegative: Whether weights must be at least 0.
        seed: Seed of the first centroids.

    Returns: `T` `(V, |A|)` float32, and the anchors of each set.

    >>> table = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0]], "float32")
    >>> transform, (anchors,) = anchor_start(table, AnchorSets(3, 3, 2), nonnegative=True)
    >>> (transform @ anchors).round(4).tolist()
    [[0.0, 1.0], [0.0, 3.0], [5.0, 0.0]]
    """
    known = [
        vectors if vectors is not None else None if ids is None else table[ids]
        for vectors, ids in zip(sets.vectors, sets.ids, strict=True)
    ]
    free = sum(size for size, one in zip(sets.sizes, known, strict=True) if one is None)
    if free:
        checks.integer_in("num_anchors", free, 1, len(table))
    count = min(sets.total, max(10, sets.total // 50))
    if free == sets.total and not nonnegative:
        sparse, anchors = k_svd(table, free, count, seed=seed)
        return sparse.toarray().astype(np.float32), [*np.split(anchors, sets.offsets[1:-1])]
    found = kmeans(table, free, seed=seed, max_points=65_536)[1] if free else table[:0]
    for place, one in enumerate(known):
        if one is None:
            known[place], found = np.split(found, [sets.sizes[place]])
    whole = np.concatenate([np.asarray(one, np.float32) for one in known])
    parts = np.split(whole, sets.offsets[1:-1])
    return _combined(table, whole, count, nonnegative), [*parts]


def _combined(table: np.ndarray, anchors: np.ndarray, count: int, nonnegative: bool) -> np.ndarray:
    """The best weights of the anchors nearest to each row, `(V, |A|)`."""
    transform = np.zeros((len(table), len(anchors)), np.float32)
    for start in range(0, len(table), ROWS):
        rows = slice(start, start + ROWS)
        columns, _ = neighbors(table[rows], anchors, count)
        values = least_squares_on(table[rows], anchors[columns], nonnegative)
        np.put_along_axis(transform[rows], columns, values.astype(np.float32), axis=1)
    return transform
