"""What every stored form keeps."""

from typing import Any, Protocol, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import TableEmbedding, call_on_ids, reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.storage import Stored
from kerascompact.ops.vocabulary_chunks import columns_in_chunks

TABLE_BITS = {"float32": 32, "int8": 8, "int4": 4}
PRECISIONS = tuple(TABLE_BITS)


class TableSource(Protocol):
    """Numbers of a table, before their scale, that a form reads instead of its own."""

    def rows(self, index: tf.Tensor) -> tf.Tensor:
        """Rows `index` as float32."""

    def whole(self) -> tf.Tensor:
        """All rows as float32."""


class Form(TableEmbedding):
    """An embedding as it ships: named constant arrays, and a lookup made of TFLite built-ins.

    A subclass builds its arrays with `add_array` and `add_table`, and defines
    `lookup(ids) -> float32 vectors` and `quantized`. It is an ordinary Keras layer: it evaluates,
    saves and loads, and has nothing to train.

    Args:
        input_dim: Vocabulary size `V`.
        output_dim: Embedding width `d`.
        mask_zero: Whether id 0 is padding, as in `keras.layers.Embedding`.
        paper_bits: Bits by the size formula of the paper whose method was frozen, if it has one.
        **kwargs: Those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`; with `reverse=True`, vectors
        `(..., d)` -> logits `(..., V)`, see `TableEmbedding`.
    Raises: ValueError, for a wrong argument, or (outside a graph) an id out of range.
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
        self._stored: list[Stored] = []
        self.largest: dict[str, int] = {}  # of the integers of each table that has some
        self.sources: dict[str, TableSource] = {}  # of tables that are read from elsewhere

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray], **config: Any) -> Self:
        """Builds a form and fills the arrays it declares."""
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
        """Declares one stored array; `stored`: shape and bits, where packing hides them."""
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
        """Declares a table of rows: float32, or integers with float32 scales.

        "int4" is held as int8 in [-7, 7]; the file packs two to a byte. `scale_shape`: one scale
        for each column, unless it is given; `()`: no scale.
        """
        dtype = "float32" if precision == "float32" else "int8"
        self.add_array(name, shape, dtype, stored=(shape, TABLE_BITS[precision]))
        scale_shape = shape[1:] if scale_shape is None else scale_shape
        if dtype == "int8":
            self.largest[name] = 2 ** (TABLE_BITS[precision] - 1) - 1
            if scale_shape:
                self.add_array(f"{name}_scale", scale_shape, "float32")

    def rows(self, name: str, index: tf.Tensor) -> tf.Tensor:
        """Reads rows of a table as float32; only these rows are ever converted."""
        return self.with_scale(name, self.raw_rows(name, index))

    def raw_rows(self, name: str, index: tf.Tensor) -> tf.Tensor:
        """Rows of a table as float32, before their scale."""
        if name in self.sources:
            return self.sources[name].rows(index)
        rows = tf.gather(getattr(self, name).value, index)
        return rows if rows.dtype == tf.float32 else tf.cast(rows, tf.float32)

    def with_scale(self, name: str, vectors: tf.Tensor) -> tf.Tensor:
        """Vectors times the scales of a table, if it has any."""
        scale = getattr(self, f"{name}_scale", None)
        return vectors if scale is None else vectors * scale.value

    def times(self, vectors: tf.Tensor, name: str, zero: tf.Tensor) -> tf.Tensor:
        """`vectors @ table`, `(..., r) -> (..., d)`, for a table that is always used whole."""
        kernel = self.whole(name, zero)
        if vectors.shape.rank == 1:
            return self.with_scale(name, tf.matmul(vectors[None], kernel)[0])
        return self.with_scale(name, tf.matmul(vectors, kernel))

    def whole(self, name: str, zero: tf.Tensor) -> tf.Tensor:
        """A table that is always used whole, as float32, before its scale.

        `zero` is a number that is always 0, which the TFLite converter cannot know: it would store
        the table as float32, with the scales multiplied into it.
        """
        if name in self.sources:
            return self.sources[name].whole()
        table = getattr(self, name).value
        if table.dtype == tf.float32:
            return tf.convert_to_tensor(table)
        return tf.cast(tf.gather(tf.expand_dims(table, 0), zero), tf.float32)

    def table_values(self, name: str) -> np.ndarray:
        """A table as float32 numbers, whatever it is stored as."""
        table = keras.ops.convert_to_numpy(getattr(self, name)).astype(np.float32)
        scale = getattr(self, f"{name}_scale", None)
        if scale is None:
            return table
        scale = keras.ops.convert_to_numpy(scale)
        parts = table.reshape(*scale.shape[:-1], -1, table.shape[1])
        return (parts * np.expand_dims(scale, -2)).reshape(table.shape)

    def read_table_from(self, name: str, source: "TableSource") -> None:
        """Makes lookups read one table from elsewhere, as quantization-aware training does.

        What is stored stays as it is, and so do `table_values`, `storage` and files.

        Args:
            name: Name of the table.
            source: What gives its numbers, before their scale.
        """
        self.sources[name] = source

    def quantized_table(
        self, name: str, precision: str, parts: int | None = None
    ) -> dict[str, np.ndarray]:
        """The arrays of `add_table(name, ..., precision)`, "int8" or "int4", for these numbers.

        With `parts`, so many equal parts of the rows have scales of their own.
        """
        table = self.table_values(name)
        shape = table.shape if parts is None else (parts, -1, table.shape[1])
        codes, scale = quantize_columns(table.reshape(shape), TABLE_BITS[precision])
        return {name: codes.reshape(table.shape), f"{name}_scale": scale}

    def to_form(self) -> "Form":
        """Itself: a form is what ships."""
        return self

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Vectors `(..., d)` of int32 ids `(...)`, as float32."""
        raise NotImplementedError(f"{type(self).__name__} must define `lookup`.")

    def stored_as(self, precision: str = "int8") -> "Form":
        """The same form with its tables stored as `precision`, "int8" or "int4".

        Nothing changes in place. A table that has no more bits already stays, so a form of such
        tables is itself.
        """
        return self.quantized(checks.choice("precision", precision, ("int8", "int4")))

    def quantized(self, precision: str) -> "Form":
        """The same form with tables of at most that many bits; itself, if they are so already."""
        raise NotImplementedError(f"{type(self).__name__} must define `quantized`.")

    def unscaled(self) -> "tuple[Form, np.ndarray | None]":
        """A form without the scales of its columns, and these, `(d,)`.

        Whatever multiplies the vectors anyway can hold the scales for it. A form that has none is
        itself, with `None`.
        """
        return self, None

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Logits `(..., V)` of float32 vectors `(..., d)`: `h . E[v]` for every word.

        Here, for any form: the vectors of a part of the vocabulary at a time, multiplied.
        """
        flat = tf.reshape(hidden, [-1, self.output_dim])

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            return tf.matmul(flat, self._rows(ids), transpose_b=True)  # no id occurs twice

        logits = columns_in_chunks(columns_of, self.input_dim, flat)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> tf.Tensor:
        if reverse:
            return self.call_in_reverse(inputs, self._rows if training else None)
        return call_on_ids(self, inputs, self.lookup)

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        return self.lookup(ids[None])[0]  # as for one text

    @property
    def float32_bits(self) -> int:
        """Bits of the float32 table that the form stands for."""
        return 32 * self.input_dim * self.output_dim

    def storage(self) -> list[Stored]:
        """Every stored array with its bits: what the file must hold, nothing else."""
        return list(self._stored)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "paper_bits": self.paper_bits}


def at_most(precision: str, wanted: str) -> bool:
    """Whether tables of one precision have no more bits than those of another.

    >>> at_most("int4", "int8"), at_most("float32", "int8")
    (True, False)
    """
    return TABLE_BITS[precision] <= TABLE_BITS[wanted]


def read_form(name: str, form: Any) -> Form:
    """A form that another form holds, read back from its configuration if it comes from a file.

    Raises: ValueError, if it is none.
    """
    read = keras.saving.deserialize_keras_object(form) if isinstance(form, dict) else form
    if not isinstance(read, Form):
        checks.fail(name, "a form", form)
    return read
