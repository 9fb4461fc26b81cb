"""Sparse table: only the entries that are not zero are stored."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.core.storage import total_bits
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.entries import add_entries, entire_array, entry_arrays, read_entries
from kerascompact.forms.remapped import RemappedForm
from kerascompact.ops import sparse
from kerascompact.ops.vocabulary_chunks import unknown_zero


@register
class SparseTableForm(Form):
    """Looks up a row from its entries that are not zero.

    `E[i, c] = v` for each stored entry `(c, v)` of row `i`, and 0 elsewhere. Pruning and sparse
    variational dropout end in this form. It is smaller than a dense float32 table with `d <= 256`
    if fewer than 4 of 5 entries are left.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        num_entries: Number of stored entries, at least 1.
        longest_row: Largest number of entries in a row.
        precision: Type of the values, "float32" or "int8"; integers have a float32 scale for each
            column.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `n (c + v) + l V' + V' + 32` bits for `n` entries, and `32 d` for the scales of int8: a
        column takes `c` = 8 bits, or 16 above 256 columns; a value `v` = 32, or 8 in int8; a row's
        length `l` = 8, or 16 if a row has more than 255 entries; `V'` is `V` rounded up to a
        multiple of 32.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> form = SparseTableForm.from_table(np.array([[0.0, 2.0], [0.0, 0.0], [3.0, 0.0]]))
    >>> form(np.array([0, 1, 2])).numpy().tolist()
    [[0.0, 2.0], [0.0, 0.0], [3.0, 0.0]]

    Reference: [Han et al., ICLR 2016](https://arxiv.org/abs/1510.00149), sec. 2. Differs: columns
    are stored as numbers, not as differences of 5 bits, so that each row can be read on its own.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_entries: int,
        longest_row: int,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.num_entries = checks.integer_in("num_entries", num_entries, 1, 2**31 - 1)
        self.longest_row = checks.integer_in("longest_row", longest_row, 0, self.output_dim)
        self.precision = checks.choice("precision", precision, ("float32", "int8"))

    @classmethod
    def from_table(cls, table: np.ndarray, **config: Any) -> "SparseTableForm":
        """Stores the entries of a float table `(V, d)` that are not zero.

        Args:
            table: NumPy array or SciPy sparse matrix.
            **config: Further arguments of the form.

        Raises: ValueError, if it is not a matrix of finite numbers.
        """
        lengths, columns, values = read_entries(table)
        return cls._from_entries(lengths, columns, values, table.shape[1], **config)

    @classmethod
    def _from_entries(
        cls,
        lengths: np.ndarray,
        columns: np.ndarray,
        values: np.ndarray,
        width: int,
        scale: np.ndarray | None = None,
        **config: Any,
    ) -> "SparseTableForm":
        arrays, sizes = entry_arrays(lengths, columns, values, width)
        if scale is not None:
            arrays["scale"] = scale
        return cls.from_arrays(arrays, **{**config, **sizes, "output_dim": width})

    def build(self, input_shape: Any = None) -> None:
        add_entries(self, self.output_dim, self.precision)
        if self.precision == "int8":
            self.add_array("scale", (self.output_dim,), "float32")

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        flat, width = tf.reshape(ids, [-1]), self.output_dim
        found = sparse.find_rows(self.lengths.value, self.starts.value, flat)
        row, place = sparse.entries_of_rows(*found, self.longest_row)
        column = tf.cast(tf.gather(self.columns.value, place), tf.int32)
        value = tf.cast(tf.gather(self.values.value, place), tf.float32)
        # Each sum has at most one value: it only moves the values to their columns.
        entries = tf.math.unsorted_segment_sum(value, row * width + column, tf.size(flat) * width)
        return self._scaled(reshape_as(entries, ids, width))

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes one product for each stored entry; batches use the words' vectors instead."""
        if hidden.shape[:1] != [1]:
            return super().word_logits(hidden)
        zero = unknown_zero(hidden)
        scores = tf.transpose(self._scaled(tf.reshape(hidden, [-1, self.output_dim])))
        products = tf.gather(scores, tf.cast(entire_array(self, "columns", zero), tf.int32))
        products *= tf.expand_dims(tf.cast(entire_array(self, "values", zero), tf.float32), 1)
        bound = self.reach.value * tf.reduce_max(tf.abs(scores), axis=0)
        lengths = tf.cast(entire_array(self, "lengths", zero), tf.int32)
        lengths = tf.reshape(lengths, [-1])[: self.input_dim]
        logits = tf.transpose(sparse.sum_runs(products, lengths, bound))
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def _scaled(self, vectors: tf.Tensor) -> tf.Tensor:
        return vectors if self.precision == "float32" else vectors * self.scale.value

    def quantized(self, precision: str) -> "SparseTableForm":
        """The form with int8 values, even for "int4": columns take most of the bits by then.

        An entry that is rounded to 0 is dropped.
        """
        if self.precision == "int8":
            return self
        lengths = self.lengths.numpy().reshape(-1)[: self.input_dim].astype(np.int64)
        count = int(lengths.sum())
        columns, values = self.columns.numpy()[:count], self.values.numpy()[:count]
        largest = np.zeros((1, self.output_dim), np.float32)
        np.maximum.at(largest[0], columns, np.abs(values))
        scale = quantize_columns(largest)[1]  # depends only on the largest entries
        values = np.rint(values / scale[columns]).astype(np.int8)
        rows = np.repeat(np.arange(self.input_dim), lengths)[values != 0]
        lengths = np.bincount(rows, minlength=self.input_dim)
        columns, values = columns[values != 0], values[values != 0]
        config = {**self.get_config(), "precision": "int8"}
        return SparseTableForm._from_entries(
            lengths, columns, values, self.output_dim, scale, **config
        )

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_entries": self.num_entries,
            "longest_row": self.longest_row,
            "precision": self.precision,
        }


def rows_with_zeros(table: np.ndarray, **config: Any) -> Form:
    """Stores a table with zeros in the smallest of four forms.

    These are dense and sparse tables, of all rows or only of the rows that are not all zeros.

    Args:
        table: Float vectors `(V, d)`.
        **config: Further arguments of the form.

    >>> type(rows_with_zeros(np.eye(40))).__name__, type(rows_with_zeros(np.eye(2))).__name__
    ('SparseTableForm', 'DenseForm')
    """
    ids = np.flatnonzero(np.any(table != 0, axis=1))
    ids = ids if len(ids) else np.zeros(1, np.int64)
    # The outer form has the name and the mask; the form inside needs neither.
    found: list[Form] = []
    for rows, arguments in ((table, config), (table[ids], {})):
        sizes = dict(input_dim=len(rows), output_dim=rows.shape[1])
        pair = (
            DenseForm.from_arrays({"table": rows}, **sizes, **arguments),
            SparseTableForm.from_table(rows, **arguments),
        )
        found.append(min(pair, key=_bits))
    if len(ids) < len(table):
        found[1] = RemappedForm.from_part(found[1], ids, len(table), **config)
        return min(found, key=_bits)
    return found[0]


def _bits(form: Form) -> int:
    return total_bits(form.storage())
