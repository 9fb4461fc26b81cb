"""Entries of sparse matrices, stored row by row, in forms."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.ops import sparse


def read_entries(transform: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Finds the entries of a matrix that are not 0.

    Args:
        transform: NumPy array or SciPy sparse matrix.

    Returns: Number of entries in each row; column and float32 value of each entry.

    Raises: ValueError, if it is not a matrix, is empty, or holds NaN or infinity.

    >>> [array.tolist() for array in read_entries(np.array([[0, 3], [0, 0]]))]
    [[1, 0], [1], [3.0]]
    """
    if len(getattr(transform, "shape", ())) != 2 or 0 in transform.shape:
        checks.fail("transform", "a matrix (V, |A|) that is not empty", transform)
    if hasattr(transform, "tocsr"):  # a SciPy matrix, without importing SciPy
        matrix = transform.tocsr().astype(np.float32, copy=True)
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        lengths, columns, values = np.diff(matrix.indptr), matrix.indices, matrix.data
    else:
        dense = np.asarray(transform, np.float32)
        rows, columns = np.nonzero(dense)
        lengths, values = np.bincount(rows, minlength=len(dense)), dense[rows, columns]
    return lengths, columns, checks.finite("transform", values)


def entry_arrays(
    lengths: np.ndarray, columns: np.ndarray, values: np.ndarray, num_columns: int
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays of a form that stores entries row by row, and the arguments that give their sizes.

    Args:
        lengths: Number of entries in each row, `(V,)`.
        columns: Column of each entry.
        values: Value of each entry.
        num_columns: Number of columns.

    >>> arrays, sizes = entry_arrays(np.array([1, 0]), np.array([2]), np.array([3.0]), 4)
    >>> arrays["columns"].tolist(), sizes["longest_row"]
    ([2], 1)
    """
    longest = int(lengths.max(initial=0))
    row = np.repeat(np.arange(len(lengths)), lengths)
    reach = np.bincount(row, np.abs(values.astype(np.float64)), minlength=1)
    if not len(values):  # TFLite has no empty constants; no row reaches this one
        columns, values = np.zeros(1, np.int64), np.zeros(1, values.dtype)
    blocks, starts = sparse.block_rows(lengths, _smallest_type(longest + 1))
    arrays = {
        "lengths": blocks,
        "starts": starts,
        "columns": columns.astype(_smallest_type(num_columns)),
        "values": values,
        "reach": np.float32(reach.max(initial=0)) * np.float32(1 + 1e-6),  # rounded upwards
    }
    sizes = dict(input_dim=len(lengths), num_entries=len(values), longest_row=longest)
    return arrays, sizes


def add_entries(form: Any, num_columns: int, value_type: str) -> None:
    """Declares the arrays of `entry_arrays` in a form with these sizes.

    Args:
        form: Form with `input_dim`, `num_entries` and `longest_row`.
        num_columns: Number of columns.
        value_type: Type of the values.
    """
    blocks = -(-form.input_dim // sparse.BLOCK)
    form.add_array("lengths", (blocks, sparse.BLOCK), _smallest_type(form.longest_row + 1))
    form.add_array("starts", (blocks,), "int32")
    form.add_array("columns", (form.num_entries,), _smallest_type(num_columns))
    form.add_array("values", (form.num_entries,), value_type)
    form.add_array("reach", (), "float32")  # the largest sum of a row's absolute values


def entire_array(form: Any, name: str, zero: tf.Tensor) -> tf.Tensor:
    """An entire array of integers, read so that the converter does not store a wider type."""
    return tf.gather(tf.expand_dims(getattr(form, name).value, 0), zero)


def _smallest_type(count: int) -> str:
    """The smallest integer type for numbers below `count`."""
    return "uint8" if count <= 2**8 else "int16" if count <= 2**15 else "int32"
