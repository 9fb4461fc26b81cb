"""Weighted sums of a few rows of a small table each, whose gradients keep no rows."""

from typing import Any

import tensorflow as tf

from kerascompact.ops.xla import compiles_with_xla

WIDEST = 4096  # rows of a table up to which XLA gets the weights as a dense matrix


@tf.custom_gradient
def sums_of_rows(table: tf.Tensor, columns: tf.Tensor, weights: tf.Tensor) -> Any:
    """`out[i] = sum_k weights[i, k] table[columns[i, k]]`.

    The sums and the gradient of the table are products with the weights as a sparse matrix `(n, a)`
    in rows, the gradient of the weights a product for each of their columns: of the rows `(n, s,
    d)` only two of `s` are in memory at a time. XLA has no sparse matrices; it gets gathers, and a
    dense matrix for the gradient of the table, or sums into rows if the table has more than 4096.

    Args:
        table: Rows `(a, d)` float32.
        columns: Rows of each sum, different integers `(n, s)` in `[0, a)`.
        weights: Their weights `(n, s)` float32.

    Returns: `(n, d)` float32.

    >>> table = tf.constant([[1.0, 0.0], [0.0, 10.0]])
    >>> sums_of_rows(table, [[0, 1]], tf.constant([[2.0, 1.0]])).numpy().tolist()
    [[2.0, 10.0]]
    """
    columns = tf.cast(columns, tf.int32)
    each = range(columns.shape[1])
    xla = compiles_with_xla()

    def backward(upstream: Any) -> Any:
        upstream = tf.convert_to_tensor(upstream)
        found: list[tf.Tensor] = []
        for k in each:
            with tf.control_dependencies(found[-2:-1]):  # or all rows would be in memory at once
                rows = tf.gather(table, columns[:, k])
            found.append(tf.reduce_sum(upstream * rows, axis=1))
        if xla:
            to_table = _to_table(columns, weights, upstream, table.shape[0])
        else:
            to_table = _product(columns, weights, table.shape[0], upstream, across=True)
        return to_table, None, tf.stack(found, axis=1)

    if xla:
        sums = tf.add_n([weights[:, k : k + 1] * tf.gather(table, columns[:, k]) for k in each])
    else:
        sums = _product(columns, weights, table.shape[0], table)
    return sums, backward


def softmax_sums(
    table: tf.Tensor, columns: tf.Tensor, values: tf.Tensor, scale: float = 1.0
) -> tf.Tensor:
    """Sums of all rows of a table, weighted by softmaxes in which most numbers are 0.

    `out[i] = softmax(scale t_i) table`, with `t_i` 0 but for `values[i]` in `columns[i]`.

    Args:
        table: Rows `(a, d)` float32.
        columns: Places of the values, different integers `(n, s)` in `[0, a)`.
        values: Numbers of the softmax `(n, s)`.
        scale: Their factor, above 0.

    Returns: `(n, d)` float32.

    >>> softmax_sums(tf.eye(4), [[2]], tf.constant([[0.0]])).numpy().tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    missing = table.shape[0] - values.shape[1]
    top = tf.stop_gradient(tf.reduce_max(values, axis=1, keepdims=True))
    if not missing:  # no 0 to begin with: differences from its power would cancel
        return sums_of_rows(table, columns, tf.nn.softmax(scale * (values - top)))
    top = tf.maximum(top, 0)
    powers, zero = tf.exp(scale * (values - top)), tf.exp(-scale * top)
    total = tf.reduce_sum(powers, axis=1, keepdims=True) + missing * zero
    every = zero / total * tf.reduce_sum(table, axis=0)
    return every + sums_of_rows(table, columns, (powers - zero) / total)


def dense_rows(columns: tf.Tensor, values: tf.Tensor, size: int) -> tf.Tensor:
    """Rows `(n, size)` with values in some columns, and 0 in the others.

    Args:
        columns: Columns of the values, int32 `(n, s)`.
        values: Values `(n, s)`, added where a column is repeated.
        size: Number of columns.

    >>> dense_rows(tf.constant([[2, 0]]), tf.constant([[5.0, 7.0]]), 3).numpy().tolist()
    [[7.0, 0.0, 5.0]]
    """
    zeros = tf.zeros_like(values[:, :1]) * tf.zeros([1, size], values.dtype)
    return tf.tensor_scatter_nd_add(zeros, _places(columns), values)


def _places(columns: tf.Tensor) -> tf.Tensor:
    """(row, column) of each entry, `(n, s, 2)`."""
    row = tf.cumsum(tf.ones_like(columns)) - 1  # XLA has no range of unknown length
    return tf.stack([row, columns], axis=2)


def _sparse_rows(columns: tf.Tensor, values: tf.Tensor, size: int) -> tf.Tensor:
    """The rows of `dense_rows` as a sparse matrix (a variant tensor)."""
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=tf.reshape(tf.cast(_places(columns), tf.int64), [-1, 2]),
        values=tf.reshape(values, [-1]),
        dense_shape=tf.stack([tf.shape(columns, tf.int64)[0], size]),
    )


def _product(
    columns: tf.Tensor, weights: tf.Tensor, size: int, other: tf.Tensor, across: bool = False
) -> tf.Tensor:
    """`_sparse_rows`, or its transpose, times a matrix; zeros if there are no rows.

    TensorFlow's product divides by the number of rows. The sparse matrix is made where it is read,
    anew for the gradient: a SavedModel keeps none as what goes into a branch or a gradient.
    """
    width = other.shape[1]

    def product() -> tf.Tensor:
        matrix = _sparse_rows(columns, weights, size)
        return tf.raw_ops.SparseMatrixMatMul(a=matrix, b=other, transpose_a=across)

    def zeros() -> tf.Tensor:
        return tf.zeros([size if across else tf.shape(columns)[0], width])

    found = tf.cond(tf.size(columns) > 0, product, zeros)
    return tf.ensure_shape(found, [size if across else weights.shape[0], width])


def _to_table(columns: tf.Tensor, weights: tf.Tensor, upstream: tf.Tensor, size: int) -> tf.Tensor:
    """The gradient of the table, `(a, d)`, for XLA."""
    if size <= WIDEST:
        return tf.matmul(dense_rows(columns, weights, size), upstream, transpose_a=True)
    terms = [
        tf.math.unsorted_segment_sum(weights[:, k : k + 1] * upstream, columns[:, k], size)
        for k in range(columns.shape[1])
    ]
    return tf.add_n(terms)
