"""Affine table: integers with a scale, and maybe a zero point, for each block of a row."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.tables import TABLE_BITS
from kerascompact.ops.vocabulary_chunks import columns_in_chunks


@register
class AffineTableForm(Form):
    """Looks up row `i` of a table of integers, with a scale and a zero for each block of a row.

    `E[i, j] = s[i, j // b] (q[i, j] - z[i, j // b]) c[j]`: what `model.quantize` in modes "int4"
    and "int8" of Keras make, whose integers are taken over as they are. Rows are padded to complete
    blocks. Kernels of GPTQ and AWQ are such tables, with a row for each output; AWQ has factors.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        block: Numbers `b` in a block. Default: one block is the row.
        precision: Type of the integers, "int8" or "int4".
        zeros: Whether blocks have zero points `z`.
        factors: Whether columns have factors `c`.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: 8 or 4 bits for each of `V d'` integers, with `d'` the next multiple of `b`; for each
        block 32 for its scale and 8 for its zero; `32 d` for factors.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> rows, scale, zero = np.array([[3, 1, -8]]), np.array([[0.5, 2.0]]), np.array([[1, -7]])
    >>> form = AffineTableForm.from_integers(rows, scale, zero, block=2)
    >>> form(np.array([0])).numpy().tolist()
    [[1.0, 0.0, -2.0]]

    Reference: the formats of `keras.quantizers`;
    [Frantar et al., ICLR 2023](https://arxiv.org/abs/2210.17323) (GPTQ);
    [Lin et al., MLSys 2024](https://arxiv.org/abs/2306.00978) (AWQ).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        block: int | None = None,
        precision: str = "int4",
        zeros: bool = True,
        factors: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.precision = checks.choice("precision", precision, ("int8", "int4"))
        self.zeros = checks.boolean("zeros", zeros)
        self.block = None if block is None else checks.integer_in("block", block, 1)
        self.factors = checks.boolean("factors", factors)
        self.in_block = self.block or self.output_dim
        self.groups = -(-self.output_dim // self.in_block)

    @classmethod
    def from_integers(
        cls,
        rows: np.ndarray,
        scale: np.ndarray,
        zero: np.ndarray | None = None,
        block: int | None = None,
        precision: str = "int4",
        factors: np.ndarray | None = None,
        **config: Any,
    ) -> "AffineTableForm":
        """Builds the form over integers.

        Args:
            rows: Integers, `(V, d)`, from -8 to 7 with "int4".
            scale: Scales, `(V, blocks)`.
            zero: Zero points from -128 to 127, `(V, blocks)`, or `None`.
            block: Numbers in a block. Default: one block is the row.
            precision: Type of the integers, "int8" or "int4".
            factors: Factors of the columns, `(d,)`, or `None`.
            **config: Further arguments of the form.

        Raises: ValueError, if an array has another shape or larger integers.
        """
        rows = _integers("rows", rows, 7 if precision == "int4" else 127)
        own: dict[str, Any] = {
            "precision": precision,
            "zeros": zero is not None,
            "factors": factors is not None,
        }
        form = cls(len(rows), rows.shape[1], block, **own, **config)
        form.build()
        wide = form.table.shape[1]
        form.table.assign(np.pad(rows, ((0, 0), (0, wide - rows.shape[1]))).astype(np.int8))
        form.scale.assign(checks.finite("scale", np.asarray(scale, np.float32)))
        if zero is not None:
            form.zero.assign(_integers("zero", zero, 127))
        if factors is not None:
            form.column_factors.assign(checks.finite("factors", np.asarray(factors, np.float32)))
        return form

    def build(self, input_shape: Any = None) -> None:
        shape = (self.input_dim, self.groups * self.in_block)
        self.add_array("table", shape, "int8", stored=(shape, TABLE_BITS[self.precision]))
        self.add_array("scale", (self.input_dim, self.groups), "float32")
        if self.zeros:
            self.add_array("zero", (self.input_dim, self.groups), "int8")
        if self.factors:
            self.add_array("column_factors", (self.output_dim,), "float32")

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return reshape_as(self._rows(tf.reshape(ids, [-1])), ids, self.output_dim)

    def _rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks up vectors `(n, d)` for ids `(n,)`."""
        rows = self._blocks(ids)
        return rows * self.column_factors.value if self.factors else rows

    def _blocks(self, ids: tf.Tensor) -> tf.Tensor:
        """Vectors without the factors of columns."""
        rows = tf.cast(tf.gather(self.table.value, ids), tf.float32)
        scale = tf.gather(self.scale.value, ids)
        if self.groups > 1:
            rows, scale = tf.reshape(rows, [-1, self.groups, self.in_block]), scale[:, :, None]
        if self.zeros:
            zero = tf.cast(tf.gather(self.zero.value, ids), tf.float32)
            rows -= zero[:, :, None] if self.groups > 1 else zero
        rows = tf.reshape(rows * scale, [-1, self.groups * self.in_block])
        return rows[:, : self.output_dim] if rows.shape[1] > self.output_dim else rows

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(hidden, [-1, self.output_dim])
        if self.factors:
            flat *= self.column_factors.value

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            return tf.matmul(flat, self._blocks(ids), transpose_b=True)

        logits = columns_in_chunks(columns_of, self.input_dim, flat)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def quantized(self, precision: str) -> "AffineTableForm":
        return self

    def get_config(self) -> dict[str, Any]:
        own: dict[str, Any] = {
            key: getattr(self, key) for key in ("block", "precision", "zeros", "factors")
        }
        return {**super().get_config(), **own}


def _integers(name: str, numbers: Any, largest: int) -> np.ndarray:
    """Integers of 4 or 8 bits as int8, checked."""
    found = np.asarray(numbers)
    with np.errstate(invalid="ignore"):
        whole = np.array_equal(found, np.rint(found))
    if not whole or found.min() < -largest - 1 or found.max() > largest:
        numbers = f"some from {found.min()} to {found.max()}"
        checks.fail(name, f"integers from {-largest - 1} to {largest}", numbers)
    return found.astype(np.int8)
