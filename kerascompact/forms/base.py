"""Base class of all forms."""

from typing import Any, Protocol, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import TableEmbedding, call_on_ids, reshape_as
from kerascompact.core.masked_mean import attach_mean
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.storage import Stored
from kerascompact.ops.vocabulary_chunks import columns_in_chunks

TABLE_BITS = {"float32": 32, "int8": 8, "int4": 4}
PRECISIONS = tuple(TABLE_BITS)


class TableSource(Protocol):
    """Source of a table's numbers, without scales, that a form reads instead of its own array."""

    def rows(self, index: tf.Tensor) -> tf.Tensor:
        """Reads rows `index` as float32."""

    def full(self) -> tf.Tensor:
        """Reads all rows as float32."""


class Form(TableEmbedding):
    """Looks up vectors in named constant arrays, with operators that TFLite has built in.

    `E[i] = f(arrays, i)`: a subclass declares its arrays with `add_array` and `add_table`, and
    defines `lookup(ids) -> float32 vectors` and `quantized`. A form is an ordinary Keras layer: it
    can be evaluated, saved and loaded, and has nothing to train.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        mask_zero: Whether id 0 is padding, as in `keras.layers.Embedding`.
        paper_bits: Size in bits by the formula of the method's paper, if it has one.
        **kwargs: Further arguments of `keras.layers.Layer`, such as `name`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`; with `reverse=True`, vectors
        `(..., d)` -> logits `(..., V)`.
    Storage: the sum of the arrays' bits, `sum(array.total_bits for array in form.storage())`.
    Raises: ValueError, for a wrong argument, or (outside a graph) an id out of range.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> form = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> form(np.array([1])).numpy().tolist(), form.storage()[0].total_bits
    ([[0.0, 1.0]], 128)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        mask_zero: bool = False,
        paper_bits: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(input_dim, output_dim, mask_zero=mask_zero, **kwargs)
        self.paper_bits = paper_bits
        self.is_averaged = False  # see `core.masked_mean`
        self._stored: list[Stored] = []
        self.largest: dict[str, int] = {}  # largest integer of each table of integers
        self.sources: dict[str, TableSource] = {}  # tables that are read from a source

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], **config: Any) -> Self:
        """Builds a form and fills its arrays.

        Args:
            arrays: An array for each name that the form declares.
            **config: Arguments of the form.

        Raises: ValueError, if an array has another shape than the form declares.
        """
        form = cls(**config)
        form.build()
        for name, array in arrays.items():
            getattr(form, name).assign(array)  # Keras checks the shape
        return form

    def add_array(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        stored: tuple[tuple[int, ...], int] | None = None,
    ) -> None:
        """Declares one stored array.

        Args:
            name: Name of the array and of the attribute that holds it.
            shape: Shape of the array.
            dtype: Type of its numbers.
            stored: Shape and bits of an entry, for arrays whose bytes hold packed numbers.
        """
        weight = self.add_weight(
            shape=shape,
            initializer="zeros",
            dtype=dtype,
            trainable=False,
            autocast=False,
            name=name,
        )
        setattr(self, name, weight)
        shape, bits = stored or (shape, 8 * np.dtype(dtype).itemsize)
        self._stored.append(Stored(name, shape, bits))

    def add_table(
        self,
        name: str,
        shape: tuple[int, int],
        precision: str,
        scale_shape: tuple[int, ...] | None = None,
    ) -> None:
        """Declares a table of float32 numbers, or of integers with float32 scales.

        An "int4" table holds int8 numbers in [-7, 7]; the file packs two into a byte.

        Args:
            name: Name of the table and of the attribute that holds it.
            shape: Rows and columns of the table.
            precision: "float32", "int8" or "int4".
            scale_shape: Shape of the scales; `()`: no scale. Default: one scale for each column.
        """
        dtype = "float32" if precision == "float32" else "int8"
        self.add_array(name, shape, dtype, stored=(shape, TABLE_BITS[precision]))
        scale_shape = shape[1:] if scale_shape is None else scale_shape
        if dtype == "int8":
            self.largest[name] = 2 ** (TABLE_BITS[precision] - 1) - 1
            if scale_shape:
                self.add_array(f"{name}_scale", scale_shape, "float32")

    def rows(self, name: str, index: tf.Tensor) -> tf.Tensor:
        """Reads rows of a table as float32; only these rows are converted."""
        return self.with_scale(name, self.raw_rows(name, index))

    def raw_rows(self, name: str, index: tf.Tensor) -> tf.Tensor:
        """Reads rows of a table as float32, without multiplying by the scales."""
        if name in self.sources:
            return self.sources[name].rows(index)
        rows = tf.gather(getattr(self, name).value, index)
        return rows if rows.dtype == tf.float32 else tf.cast(rows, tf.float32)

    def with_scale(self, name: str, vectors: tf.Tensor) -> tf.Tensor:
        """Multiplies vectors by the scales of a table, if it has any."""
        scale = getattr(self, f"{name}_scale", None)
        return vectors if scale is None else vectors * scale.value

    def times(self, vectors: tf.Tensor, name: str, zero: tf.Tensor) -> tf.Tensor:
        """Computes `vectors @ table`, `(..., r) -> (..., d)`; `zero` is as in `full_table`."""
        kernel = self.full_table(name, zero)
        if vectors.shape.rank == 1:
            return self.with_scale(name, tf.matmul(vectors[None], kernel)[0])
        return self.with_scale(name, tf.matmul(vectors, kernel))

    def full_table(self, name: str, zero: tf.Tensor) -> tf.Tensor:
        """Reads all rows of a table as float32, without multiplying by the scales.

        Args:
            name: Name of the table.
            zero: A number that is always 0 but is computed from the input. If the TFLite converter
                knew the number, it would store the table as float32.
        """
        if name in self.sources:
            return self.sources[name].full()
        table = getattr(self, name).value
        if table.dtype == tf.float32:
            return tf.convert_to_tensor(table)
        return tf.cast(tf.gather(tf.expand_dims(table, 0), zero), tf.float32)

    def table_values(self, name: str) -> np.ndarray:
        """The numbers of a table as float32, with the scales multiplied in."""
        table = keras.ops.convert_to_numpy(getattr(self, name)).astype(np.float32)
        scale = getattr(self, f"{name}_scale", None)
        if scale is None:
            return table
        scale = keras.ops.convert_to_numpy(scale)
        grouped = table.reshape(*scale.shape[:-1], -1, table.shape[1])
        return (grouped * np.expand_dims(scale, -2)).reshape(table.shape)

    def read_table_from(self, name: str, source: "TableSource") -> None:
        """Makes lookups read one table from a source, as quantization-aware training does.

        The stored array does not change, nor do `table_values`, `storage` and files.

        Args:
            name: Name of the table.
            source: Source of its numbers, without scales.
        """
        self.sources[name] = source

    def quantized_table(
        self, name: str, precision: str, scale_groups: int | None = None
    ) -> dict[str, np.ndarray]:
        """Rounds a table to integers, as arrays for `add_table(name, ..., precision)`.

        Args:
            name: Name of the table.
            precision: "int8" or "int4".
            scale_groups: Number of equal groups of rows that have column scales of their own.
                Default: all rows share one scale for each column.
        """
        table = self.table_values(name)
        shape = table.shape if scale_groups is None else (scale_groups, -1, table.shape[1])
        codes, scale = quantize_columns(table.reshape(shape), TABLE_BITS[precision])
        return {name: codes.reshape(table.shape), f"{name}_scale": scale}

    def to_form(self) -> "Form":
        """Returns itself: a form is already in the format of the file."""
        return self

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks up float32 vectors `(..., d)` for int32 ids `(...)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `lookup`.")

    def stored_as(self, precision: str = "int8") -> "Form":
        """Returns the same form with its tables stored as `precision`; nothing changes in place.

        Args:
            precision: "int8" or "int4". A table with no more bits stays as it is; if all do, the
                form itself is returned.
        """
        return self.quantized(checks.choice("precision", precision, ("int8", "int4")))

    def quantized(self, precision: str) -> "Form":
        """The form with tables of at most this precision; itself, if nothing needs rounding."""
        raise NotImplementedError(f"{type(self).__name__} must define `quantized`.")

    def unscaled(self) -> "tuple[Form, np.ndarray | None]":
        """Splits off the column scales: a form without them, and the scales `(d,)`.

        A matrix that multiplies the vectors anyway can then hold the scales. A form without column
        scales returns itself and `None`.
        """
        return self, None

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes logits `(..., V)` of float32 vectors `(..., d)`: `h . E[v]` for every word.

        This works for any form: it multiplies with the vectors of one chunk of the vocabulary at a
        time. Subclasses have faster ways.
        """
        flat = tf.reshape(hidden, [-1, self.output_dim])

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            return tf.matmul(flat, self._rows(ids), transpose_b=True)  # no id occurs twice

        logits = columns_in_chunks(columns_of, self.input_dim, flat)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> tf.Tensor:
        if reverse:
            return self.call_in_reverse(inputs, self._rows if training else None)
        found = call_on_ids(self, inputs, self.lookup)
        of_one_text = self.is_averaged and tuple(inputs.shape[:-1]) == (1,)
        if not of_one_text or not self.means_faster(inputs.shape[-1]):
            return found
        return attach_mean(found, lambda mask: self.mean_of(tf.cast(inputs, tf.int32), mask))

    def means_faster(self, length: int | None) -> bool:
        """Whether `mean_of` takes less time than adding the vectors of `lookup`.

        Args:
            length: Ids of a text, with padding; `None` if it is open.
        """
        return False

    def mean_of(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Mean `(1, d)` of the vectors of one text's int32 ids `(1, n)` that a bool mask keeps.

        Scales of columns come last: the converter multiplies a kernel that follows with them.
        """
        raise NotImplementedError(f"{type(self).__name__} must define `mean_of`.")

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        return self.lookup(ids[None])[0]  # as a batch of one text

    @property
    def float32_bits(self) -> int:
        """Bits of the float32 table that the form replaces."""
        return 32 * self.input_dim * self.output_dim

    def storage(self) -> list[Stored]:
        """Every stored array with its bits: what the file must hold and nothing else."""
        return list(self._stored)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "paper_bits": self.paper_bits}


def at_most(precision: str, wanted: str) -> bool:
    """Whether a precision has no more bits than another.

    Args:
        precision: "float32", "int8" or "int4".
        wanted: Precision to compare with.

    >>> at_most("int4", "int8"), at_most("float32", "int8")
    (True, False)
    """
    return TABLE_BITS[precision] <= TABLE_BITS[wanted]


def read_form(name: str, form: Any) -> Form:
    """Reads the form inside another form, from its configuration if that comes from a file.

    Args:
        name: Name of the argument, for errors.
        form: A form or its configuration.

    Raises: ValueError, if it is not a form.
    """
    read = keras.saving.deserialize_keras_object(form) if isinstance(form, dict) else form
    if not isinstance(read, Form):
        checks.fail(name, "a form", form)
    return read
