"""Named constant arrays of a form: tables of numbers, rounded or not, and how they are read."""

from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core.embedding import TableEmbedding
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.storage import Stored

TABLE_BITS = {"float32": 32, "int8": 8, "int4": 4}
PRECISIONS = tuple(TABLE_BITS)


class TableSource(Protocol):
    """Source of a table's numbers, without scales, that a form reads instead of its own array."""

    def rows(self, index: tf.Tensor) -> tf.Tensor:
        """Reads rows `index` as float32."""

    def full(self) -> tf.Tensor:
        """Reads all rows as float32."""


class StoredTables(TableEmbedding):
    """Declares, reads and rounds the arrays that a form stores.

    A table of integers has float32 scales, `w = scale * integer`, by default one for each column.
    Only the rows that are read become float32.

    Args:
        *args: Positional arguments of `core.embedding.TableEmbedding`.
        **kwargs: Its other arguments.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._stored: list[Stored] = []
        self.largest: dict[str, int] = {}  # largest integer of each table of integers
        self.sources: dict[str, TableSource] = {}  # tables that are read from a source

    def add_array(
        self,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        stored: tuple[tuple[int, ...], int] | None = None,
        row_padding: int = 0,
    ) -> None:
        """Declares one stored array.

        Args:
            name: Name of the array and of the attribute that holds it.
            shape: Shape of the array.
            dtype: Type of its numbers.
            stored: Shape and bits of an entry, for arrays whose bytes hold packed numbers.
            row_padding: Bits that complete the last byte of each row.
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
        self._stored.append(Stored(name, shape, bits, row_padding))

    def add_table(
        self,
        name: str,
        shape: tuple[int, int],
        precision: str,
        scale_shape: tuple[int, ...] | None = None,
    ) -> None:
        """Declares a table of float32 numbers, or of integers with float32 scales.

        An "int4" table holds int8 numbers in [-7, 7]; the file packs two of a row into a byte.

        Args:
            name: Name of the table and of the attribute that holds it.
            shape: Rows and columns of the table.
            precision: "float32", "int8" or "int4".
            scale_shape: Shape of the scales; `()`: no scale. Default: one scale for each column.
        """
        dtype = "float32" if precision == "float32" else "int8"
        # In a file each row of four-bit numbers is of whole bytes.
        bits = TABLE_BITS[precision]
        self.add_array(name, shape, dtype, (shape, bits), -shape[-1] * bits % 8)
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

    def read_table_from(self, name: str, source: TableSource) -> None:
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

    def storage(self) -> list[Stored]:
        """Every stored array with its bits: what the file must hold and nothing else."""
        return list(self._stored)


def at_most(precision: str, wanted: str) -> bool:
    """Whether a precision has no more bits than another.

    Args:
        precision: "float32", "int8" or "int4".
        wanted: Precision to compare with.

    >>> at_most("int4", "int8"), at_most("float32", "int8")
    (True, False)
    """
    return TABLE_BITS[precision] <= TABLE_BITS[wanted]
