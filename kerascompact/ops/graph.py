"""Sparse matrices of graphs, as pairs of (row, column) and values."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.ops.xla import compiles_with_xla


def normalized_adjacency(edges: np.ndarray, num_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """The propagation matrix of a graph convolutional network.

    `A_hat = D^-1/2 (A + I) D^-1/2`, `A_uv = 1` if there is an edge between `u` and `v`, and `D` the
    diagonal matrix of the row sums of `A + I`. A node without edges keeps its own vector
    (`A_hat_uu = 1`); one with an edge to itself has 2 on the diagonal of `A + I`.

    Args:
        edges: Edges, `(E, 2)` integers in `[0, num_nodes)`, undirected: `(u, v)` and `(v, u)` are
            the same edge, and naming it again changes nothing.
        num_nodes: Number of nodes `N`.

    Returns: The entries that are not 0, by rows and then columns: places `(M, 2)` int32 and values
    `(M,)` float32.

    Raises: ValueError, if `edges` has another shape or names other nodes.

    >>> places, values = normalized_adjacency(np.array([[0, 1]]), 3)
    >>> places.tolist(), values.round(3).tolist()
    ([[0, 0], [0, 1], [1, 0], [1, 1], [2, 2]], [0.5, 0.5, 0.5, 0.5, 1.0])

    Reference: [Kipf & Welling, ICLR 2017](https://arxiv.org/abs/1609.02907), eq. 2 and 9.
    """
    checks.integer_in("num_nodes", num_nodes, 1)
    edges = checks.ids_below("edges", np.asarray(edges), num_nodes).astype(np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"`edges` must have the shape (edges, 2). Received: {edges.shape}.")
    # Each entry as one number: their set has each direction of each edge once.
    number = np.unique(np.concatenate([edges, edges[:, ::-1]]) @ [num_nodes, 1])
    diagonal = np.arange(num_nodes) * (num_nodes + 1)
    number, counts = np.unique(np.concatenate([number, diagonal]), return_counts=True)
    rows, columns = np.divmod(number, num_nodes)
    root = np.sqrt(np.bincount(rows, weights=counts, minlength=num_nodes))
    values = counts / (root[rows] * root[columns])
    return np.stack([rows, columns], axis=1).astype(np.int32), values.astype(np.float32)


def normalized_rows(matrix: Any) -> tuple[np.ndarray, np.ndarray]:
    """The entries of a matrix of features, each row divided by its sum.

    `X_ij / sum_j X_ij`, so that a node's features are weights of an average. A row of zeros stays.

    Args:
        matrix: Features, a `(N, F)` array or SciPy matrix without negative entries.

    Returns: The entries that are not 0, by rows and then columns: places `(nnz, 2)` int32 and
    values `(nnz,)` float32.

    Raises: ValueError, if `matrix` has another shape, or an entry is negative or not finite.

    >>> places, values = normalized_rows(np.array([[0, 3, 1], [0, 0, 0]]))
    >>> places.tolist(), values.tolist()
    ([[0, 1], [0, 2]], [0.75, 0.25])
    """
    if len(np.shape(matrix)) != 2:
        raise ValueError(f"`matrix` must have the shape (N, F). Received: {np.shape(matrix)}.")
    if hasattr(matrix, "tocsr"):
        # Not every sparse format can be read at places, and an entry may be a sum of several.
        matrix = matrix.tocsr(copy=True)
        matrix.sum_duplicates()
    rows, columns = matrix.nonzero()
    order = np.lexsort((columns, rows))
    rows, columns = rows[order], columns[order]
    # A sparse matrix read at places gives a matrix of one row.
    values = checks.finite("matrix", np.asarray(matrix[rows, columns], np.float64).reshape(-1))
    if values.size and values.min() < 0:
        raise ValueError(f"`matrix` must have no negative entry. Received: {values.min():g}.")
    sums = np.bincount(rows, weights=values, minlength=matrix.shape[0])
    places = np.stack([rows, columns], axis=1).astype(np.int32)
    return places, (values / sums[rows]).astype(np.float32)


def sparse_matmul(
    places: tf.Tensor, values: tf.Tensor, dense: tf.Tensor, num_rows: Any
) -> tf.Tensor:
    """Product of a sparse and a dense matrix, with and without XLA.

    `Y_i = sum_j S_ij X_j`. XLA has no kernel for TensorFlow's sparse product and gets a gather and
    a sum over segments, which on CPU takes about ten times longer (24 against 2 ms, forward and
    backward, for 49,216 entries and width 16).

    Args:
        places: Rows and columns of the entries, `(nnz, 2)`, int32 or int64.
        values: Stored entries, `(nnz,)` floats.
        dense: Dense factor, `(columns, d)`.
        num_rows: Number of rows of `S`, an integer or a scalar tensor.

    Returns: `(num_rows, d)` float32.

    >>> sparse_matmul([[0, 1], [2, 0]], [10.0, 1.0], [[1.0], [2.0]], 3).numpy().tolist()
    [[20.0], [0.0], [1.0]]
    """
    places = tf.convert_to_tensor(places)
    values = tf.cast(values, tf.float32)  # long sums of float16 lose digits
    dense = tf.cast(dense, tf.float32)
    if compiles_with_xla():
        terms = values[:, None] * tf.gather(dense, places[:, 1])
        return tf.math.unsorted_segment_sum(terms, places[:, 0], num_rows)
    shape = tf.stack([tf.cast(num_rows, tf.int64), tf.shape(dense, tf.int64)[0]])
    product = tf.raw_ops.SparseTensorDenseMatMul(
        a_indices=places, a_values=values, a_shape=shape, b=dense
    )
    return tf.ensure_shape(product, [num_rows if isinstance(num_rows, int) else None, None])
