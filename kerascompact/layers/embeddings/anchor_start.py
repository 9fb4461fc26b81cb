"""Start of an anchor embedding from a trained table: anchors and a sparse transform."""

from typing import Any

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
    count = min(sets.total, max(10, sets.total // 50))
    columns, values, anchors = anchor_entries(table, sets, count, nonnegative, seed)
    transform = np.zeros((len(table), sets.total), np.float32)
    np.put_along_axis(transform, columns, values, axis=1)
    return transform, anchors


def anchor_entries(
    table: np.ndarray, sets: AnchorSets, count: int, nonnegative: bool, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray | None]]:
    """Like `anchor_start`, with `T` as the `count` entries of each row.

    Args:
        table: Table of vectors, `(V, d)` float32.
        sets: Sizes of the sets, and their anchors if given.
        count: Number of entries in a row, at most `|A|`.
        nonnegative: Whether weights must be at least 0.
        seed: Seed of the first centroids.

    Returns: Columns `(V, count)`, which differ in a row, their values, and the anchors of each set.

    >>> table = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0]], "float32")
    >>> anchor_entries(table, AnchorSets(3, 3, 2), 1, nonnegative=True)[1].tolist()
    [[1.0], [1.0], [1.0]]
    """
    known = [
        vectors if vectors is not None else None if ids is None else table[ids]
        for vectors, ids in zip(sets.vectors, sets.ids, strict=True)
    ]
    free = sum(size for size, one in zip(sets.sizes, known, strict=True) if one is None)
    if free:
        checks.integer_in("num_anchors", free, 1, len(table))
    if free == sets.total and not nonnegative:
        sparse, anchors = k_svd(table, free, count, seed=seed)
        return *largest_entries(sparse, count), [*np.split(anchors, sets.offsets[1:-1])]
    found = kmeans(table, free, seed=seed, max_points=65_536)[1] if free else table[:0]
    for place, one in enumerate(known):
        if one is None:
            known[place], found = np.split(found, [sets.sizes[place]])
    whole = np.concatenate([np.asarray(one, np.float32) for one in known])
    parts = np.split(whole, sets.offsets[1:-1])
    return *_combined(table, whole, count, nonnegative), [*parts]


def _combined(
    table: np.ndarray, anchors: np.ndarray, count: int, nonnegative: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The anchors nearest to each row, and their best weights, `(V, count)`."""
    columns = np.empty((len(table), count), np.int32)
    values = np.empty((len(table), count), np.float32)
    for start in range(0, len(table), ROWS):
        rows = slice(start, start + ROWS)
        columns[rows], _ = neighbors(table[rows], anchors, count)
        values[rows] = least_squares_on(table[rows], anchors[columns[rows]], nonnegative)
    return columns, values


def largest_entries(matrix: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The `count` largest entries of each row of a matrix, those of zero where a row has fewer.

    Args:
        matrix: SciPy csr matrix `(V, |A|)`.
        count: Number of entries, at most `|A|`.

    Returns: Columns `(V, count)` int32, which differ in a row, and float32 values; the largest
        absolute value first.

    >>> from scipy.sparse import csr_matrix
    >>> [part.tolist() for part in largest_entries(csr_matrix([[0.0, 1.0, -3.0]]), 2)]
    [[[2, 1]], [[-3.0, 1.0]]]
    """
    columns = np.empty((matrix.shape[0], count), np.int32)
    values = np.empty(columns.shape, np.float32)
    for start in range(0, len(columns), ROWS):
        rows = slice(start, start + ROWS)
        dense = matrix[rows].toarray()
        columns[rows] = np.argsort(-np.abs(dense), axis=1, kind="stable")[:, :count]
        values[rows] = np.take_along_axis(dense, columns[rows], axis=1)
    return columns, values
