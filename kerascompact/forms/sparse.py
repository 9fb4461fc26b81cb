"""Anchors: each vector is a sparse combination of anchor vectors."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks, masked_mean
from kerascompact.core.embedding import reshape_as
from kerascompact.core.extras import require
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.entries import add_entries, entire_array, entry_arrays, read_entries
from kerascompact.forms.tables import PRECISIONS, TABLE_BITS, at_most
from kerascompact.ops import sparse
from kerascompact.ops.unique import unique_ids
from kerascompact.ops.vocabulary_chunks import id_range, unknown_zero


@register
class SparseForm(Form):
    """Adds the anchors of a word, each times an entry of a sparse matrix.

    `E = T A`: `E[i] = sum_k T[i, k] A[k]` over the stored entries of row `i`, with `A: (|A|, d)`. A
    row without entries is zero. A lookup reads only the entries of its rows: no row is padded, and
    no table is unpacked.

    A mixture of several sets of anchors is stored as one set with all of them, and a softmax over
    the entries of a row as its results.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        num_anchors: Number of anchors `|A|`.
        num_entries: Number of stored entries of `T`, at least 1.
        longest_row: Largest number of entries in a row.
        precision: Type of the anchors: "float32", "int8" or "int4"; integers have a float32 scale
            for each column. The entries of `T` are float32, or 8-bit integers for both integer
            types.
        signed: Whether `T` has negative entries; its integers are int8 then, else uint8.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `n (c + v) + l V' + V' + 32` bits for `n` entries: a column takes `c` = 8 bits, 16
        above 256 anchors, 32 above 32,768; a value `v` = 32, or 8 as an integer; a row's length `l`
        = 8, or 16 if a row has more than 255 entries; `V'` is `V` rounded up to a multiple of 32.
        The anchors take `32 |A| d`, `8 |A| d + 32 d` or `4 |A| d + 32 d`.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> anchors = np.array([[1.0, 0.0], [0.0, 10.0]])
    >>> form = SparseForm.from_matrix(np.array([[2.0, 1.0], [0.0, 0.0], [0.0, 3.0]]), anchors)
    >>> form(np.array([0, 1, 2])).numpy().tolist()
    [[2.0, 10.0], [0.0, 0.0], [0.0, 30.0]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.2 and 3.4.
    Differs: the paper counts `nnz(T) + |A| d` numbers; a file also stores columns and row lengths.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_anchors: int,
        num_entries: int,
        longest_row: int,
        precision: str = "float32",
        signed: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.num_anchors = checks.integer_in("num_anchors", num_anchors, 1)
        self.num_entries = checks.integer_in("num_entries", num_entries, 1, 2**31 - 1)
        self.longest_row = checks.integer_in("longest_row", longest_row, 0, self.num_anchors)
        self.precision = checks.choice("precision", precision, PRECISIONS)
        self.signed = checks.boolean("signed", signed)

    @classmethod
    def from_matrix(cls, transform: Any, anchors: np.ndarray, **config: Any) -> "SparseForm":
        """Stores a matrix `T` and anchors; entries that are 0 are not stored.

        Args:
            transform: The matrix `T`, `(V, |A|)`, as NumPy array or SciPy sparse matrix.
            anchors: Float vectors `(|A|, d)`.
            **config: Further arguments of the form.

        Raises: ValueError, if the shapes do not fit or a number is not finite.
        """
        anchors = checks.finite("anchors", np.asarray(anchors, np.float32))
        lengths, columns, values = read_entries(transform)
        if anchors.ndim != 2 or 0 in anchors.shape or len(anchors) != transform.shape[1]:
            raise ValueError(
                f"`anchors` must have the shape ({transform.shape[1]}, d), a row for each column "
                f"of `transform`. Received: {anchors.shape}."
            )
        return cls.from_entries(lengths, columns, values, anchors, **config)

    @classmethod
    def from_entries(
        cls,
        lengths: np.ndarray,
        columns: np.ndarray,
        values: np.ndarray,
        anchors: np.ndarray,
        scale: np.ndarray | None = None,
        **config: Any,
    ) -> "SparseForm":
        """Stores the entries of all rows, one row after the other.

        Args:
            lengths: Number of entries in each row, `(V,)`.
            columns: Anchor of each entry.
            values: Value of each entry.
            anchors: Vectors `(|A|, d)`.
            scale: Column scales of the anchors, `(d,)`, if these and the values are integers.
            **config: Further arguments of the form.
        """
        num_anchors, width = anchors.shape
        arrays, sizes = entry_arrays(lengths, columns, values, num_anchors)
        arrays["anchors"] = anchors
        if scale is not None:
            arrays["anchors_scale"] = scale
        sizes |= {"output_dim": width, "num_anchors": num_anchors}
        sizes["signed"] = bool(np.any(values < 0))
        return cls.from_arrays(arrays, **{**config, **sizes})

    def build(self, input_shape: Any = None) -> None:
        small = "int8" if self.signed else "uint8"
        value_type = "float32" if self.precision == "float32" else small
        add_entries(self, self.num_anchors, value_type)
        self.add_table("anchors", (self.num_anchors, self.output_dim), self.precision)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(ids, [-1])
        if ids.shape[:1] == [1]:  # for one text, as on a phone, finding its unique ids costs more
            return reshape_as(self._vectors(flat), ids, self.output_dim)
        unique, inverse = unique_ids(flat, self.input_dim)
        return reshape_as(tf.gather(self._vectors(unique), inverse), ids, self.output_dim)

    def _vectors(self, ids: tf.Tensor) -> tf.Tensor:
        found = sparse.find_rows(self.lengths.value, self.starts.value, ids)
        row, place = sparse.entries_of_rows(*found, self.longest_row)
        sums = tf.math.unsorted_segment_sum(self._terms(place), row, tf.size(ids))
        return self._unrounded(sums)

    def means_faster(self, length: int | None) -> bool:
        return True

    def mean_of(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Adds all entries at once: rows of padding have none here, and no entry needs to know its
        word. A mean of words takes 0.7 times as long with it."""
        flat, kept = tf.reshape(ids, [-1]), tf.reshape(tf.cast(mask, tf.int32), [-1])
        starts, lengths = sparse.find_rows(self.lengths.value, self.starts.value, flat)
        place, _ = sparse.places_of_rows(starts, lengths * kept, self.longest_row)
        # TensorFlow's runtime (2.21) gives a sum of no entries whatever there was in memory.
        terms = tf.pad(self._terms(place), [[0, 1], [0, 0]])
        added = tf.reduce_sum(terms, axis=0, keepdims=True)
        return self._unrounded(masked_mean.over_number(added, mask))

    def _terms(self, place: tf.Tensor) -> tf.Tensor:
        """Anchors `(m, d)` of the entries at some places, times the entries.

        Integer entries are scaled to [-1, 1]: in a recipe that rounds between layers, the converter
        gives anchors and products the same range. Products up to 127 * 255 would leave anchors one
        bit.
        """
        column = tf.cast(tf.gather(self.columns.value, place), tf.int32)
        value = tf.cast(tf.gather(self.values.value, tf.expand_dims(place, 1)), tf.float32)
        if self.precision != "float32":
            value *= 1 / self.entry_steps
        return self.raw_rows("anchors", column) * value

    def _unrounded(self, sums: tf.Tensor) -> tf.Tensor:
        if self.precision == "float32":
            return sums
        return sums * (self.anchors_scale.value * self.entry_steps)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes `T (A h)` for one text: `|A| d` products and one for each entry of `T`.

        This needs `8 n` bytes per vector for `n` entries. A batch of many vectors multiplies with
        the words' vectors instead, one chunk of the vocabulary at a time.
        """
        if hidden.shape[:1] != [1]:
            return super().word_logits(hidden)
        flat, zero = tf.reshape(hidden, [-1, self.output_dim]), unknown_zero(hidden)
        flat = self.with_scale("anchors", flat)
        # Int4 anchors are gathered, as in `lookup`, so that the file stores them only once.
        if self.precision == "int4":
            anchors = self.raw_rows("anchors", id_range(zero, self.num_anchors))
        else:
            anchors = self.full_table("anchors", zero)
        scores = tf.matmul(flat, anchors, transpose_b=True)
        values = tf.cast(entire_array(self, "values", zero), tf.float32)
        if hidden.shape.num_elements() == self.output_dim:  # one vector: faster without an axis
            scores = tf.reshape(scores, [-1])
        else:
            scores, values = tf.transpose(scores), tf.expand_dims(values, 1)  # (|A|, n)
        columns = tf.cast(entire_array(self, "columns", zero), tf.int32)
        products = tf.gather(scores, columns) * values
        bound = self.reach.value * tf.reduce_max(tf.abs(scores), axis=0)
        lengths = tf.reshape(tf.cast(entire_array(self, "lengths", zero), tf.int32), [-1])
        logits = sparse.sum_runs(products, lengths[: self.input_dim], bound)
        return reshape_as(tf.transpose(logits), hidden[..., 0], self.input_dim)

    @property
    def entry_steps(self) -> int:
        """Largest 8-bit entry of `T`."""
        return 127 if self.signed else 255

    def transform(self) -> np.ndarray:
        """The stored `T` as a dense array `(V, |A|)`, for looking at small ones."""
        lengths = self.lengths.numpy().reshape(-1)[: self.input_dim]
        rows, count = np.repeat(np.arange(self.input_dim), lengths), int(lengths.sum())
        dense = np.zeros((self.input_dim, self.num_anchors), np.float32)
        dense[rows, self.columns.numpy()[:count]] = self.values.numpy()[:count]
        return dense

    def entries(self) -> Any:
        """The stored `T` as a SciPy CSR matrix `(V, |A|)` of float32 numbers, without scales."""
        lengths = self.lengths.numpy().reshape(-1)[: self.input_dim]
        starts = np.append(0, np.cumsum(lengths, dtype=np.int64))
        columns = self.columns.numpy()[: starts[-1]].astype(np.int32)
        values = self.values.numpy()[: starts[-1]].astype(np.float32)
        shape = (self.input_dim, self.num_anchors)
        return require("scipy.sparse", "compress").csr_matrix((values, columns, starts), shape)

    def quantized(self, precision: str) -> "SparseForm":
        """The form with 8-bit entries and anchors of 8 or 4 bits.

        Each column of `T` is divided by its largest entry, and the anchor is multiplied by it, so
        that rounding affects all products alike. The scale of the entries, `1 / 255` (`1 / 127`
        with signs), goes into the scales of the anchors. An entry that is rounded to 0 is dropped.
        """
        if at_most(self.precision, precision):
            return self
        anchors = self.table_values("anchors")
        lengths = self.lengths.numpy().reshape(-1)[: self.input_dim].astype(np.int64)
        count = int(lengths.sum())
        columns, values = self.columns.numpy()[:count], self.values.numpy()[:count]
        scale = np.float32(1)
        if self.precision == "float32":
            largest = np.zeros(self.num_anchors, np.float32)
            np.maximum.at(largest, columns, np.abs(values))
            largest[largest == 0] = 1
            anchors = anchors * largest[:, None]
            scale = np.float32(1 / self.entry_steps)
            exact, kind = (
                values / largest[columns] * self.entry_steps,
                "int8" if self.signed else "uint8",
            )
            values = np.rint(exact).astype(kind)
            rows = np.repeat(np.arange(self.input_dim), lengths)[values != 0]
            lengths = np.bincount(rows, minlength=self.input_dim)
            columns, values = columns[values != 0], values[values != 0]
        codes, steps_of = quantize_columns(anchors, TABLE_BITS[precision])
        config = {**self.get_config(), "precision": precision}
        return SparseForm.from_entries(lengths, columns, values, codes, steps_of * scale, **config)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_anchors": self.num_anchors,
            "num_entries": self.num_entries,
            "longest_row": self.longest_row,
            "precision": self.precision,
            "signed": self.signed,
        }
