"""Row-scaled table: integers with a scale for each row or for each block of a row."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.tables import TABLE_BITS, at_most
from kerascompact.ops.vocabulary_chunks import columns_in_chunks

INTEGERS = ("int8", "int4")
LEAST = float(np.finfo(np.float16).smallest_subnormal)


@register
class RowScaledForm(Form):
    """Looks up row `i` of a table of integers and multiplies it by the scales of the row.

    `E[i, j] = s_i q[i, j]`, or `s[i, j // b] q[i, j]` with a float16 scale for each block of `b`
    numbers. A word with a short vector keeps its digits, which it would lose if one scale served a
    column of all words; the price is a scale for each word. Rows are padded with zeros to complete
    bytes or blocks. In a file, the lookup is one `EMBEDDING_LOOKUP`.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        precision: Type of the integers, "int8" or "int4".
        block: Numbers `b` in a block, 32, with "int4" only. Default: one scale for each row.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `8 V d + 32 V` bits in int8; `4 V d' + 32 V` in int4, with `d'` the next even number;
        `4 V d' + 16 V d' / b` in blocks, with `d'` the next multiple of `b`. Without blocks, a file
        stores 64 bits more for each row: the format requires a zero point for each scale.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> form = RowScaledForm.from_table(np.array([[1.0, 127.0], [0.5, 0.01]]))
    >>> form(np.array([0])).numpy().round(5).tolist()
    [[1.0, 127.0]]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        precision: str = "int8",
        block: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.precision = checks.choice("precision", precision, INTEGERS)
        self.block = checks.choice("block", block, (None, 32) if precision == "int4" else (None,))
        step = self.block or (2 if precision == "int4" else 1)
        self.width = -(-self.output_dim // step) * step

    @classmethod
    def from_table(
        cls, table: np.ndarray, precision: str = "int8", block: int | None = None, **config: Any
    ) -> "RowScaledForm":
        """Rounds a float table to integers.

        Args:
            table: Float vectors `(V, d)`.
            precision: Type of the integers, "int8" or "int4".
            block: Numbers in a block, 32, with "int4" only. Default: one scale for each row.
            **config: Further arguments of the form.

        Raises: ValueError, if the table is not finite, or too large for scales in float16.
        """
        table = checks.finite("table", np.asarray(table, np.float32))
        form = cls(len(table), table.shape[1], precision, block, **config)
        form.build()
        wide = np.pad(table, ((0, 0), (0, form.width - form.output_dim)))
        blocks = wide.reshape(-1, form.width if block is None else block)
        codes, scale = quantize_columns(blocks.T, TABLE_BITS[form.precision])
        if block is not None:
            with np.errstate(over="ignore"):
                scale = scale.astype(np.float16).astype(np.float32)
            if not np.isfinite(scale).all():  # float16 ends at 65,504
                expected = "numbers up to 458,000, for scales of blocks are float16"
                checks.fail("table", expected, np.abs(table).max())
            # Of a block that is not zeros, no scale below the least float16, 6e-8.
            scale = np.maximum(scale, LEAST * np.abs(blocks).any(axis=1))
            scale = np.where(scale > 0, scale, 1).astype(np.float32)
            codes = np.clip(np.rint(blocks.T / scale), -7, 7)
        form.table.assign(codes.T.reshape(wide.shape).astype(np.int8))
        form.scale.assign(scale.reshape(form.scale.shape))
        return form

    def build(self, input_shape: Any = None) -> None:
        shape = (self.input_dim, self.width)
        self.add_array("table", shape, "int8", stored=(shape, TABLE_BITS[self.precision]))
        blocks, bits = (1, 32) if self.block is None else (self.width // self.block, 16)
        shape = (self.input_dim, blocks)
        self.add_array("scale", shape, "float32", stored=(shape, bits))

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return reshape_as(self._rows(tf.reshape(ids, [-1])), ids, self.output_dim)

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks up vectors `(n, d)` for ids `(n,)`."""
        # `tflite.passes.embedding_lookup` recognizes this chain of operators and makes it one.
        rows = tf.cast(tf.gather(self.table.value, ids), tf.float32)
        scale = tf.gather(self.scale.value, ids)
        if self.block is not None:
            rows = tf.reshape(rows, [-1, self.width // self.block, self.block])
            rows = tf.reshape(rows * tf.expand_dims(scale, -1), [-1, self.width])
        else:
            rows *= scale
        return rows[:, : self.output_dim] if self.width > self.output_dim else rows

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(hidden, [-1, self.output_dim])

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            return tf.matmul(flat, self._rows(ids), transpose_b=True)

        logits = columns_in_chunks(columns_of, self.input_dim, flat)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def table_values(self, name: str = "table") -> np.ndarray:
        scale = np.repeat(self.scale.numpy(), self.width // self.scale.shape[1], axis=1)
        return (self.table.numpy() * scale)[:, : self.output_dim]

    def quantized(self, precision: str) -> "RowScaledForm":
        if at_most(self.precision, precision):
            return self
        config = {**self.get_config(), "precision": precision}
        del config["input_dim"], config["output_dim"]
        return RowScaledForm.from_table(self.table_values(), **config)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "precision": self.precision, "block": self.block}
