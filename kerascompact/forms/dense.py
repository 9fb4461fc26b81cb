"""Dense table: one stored row per id."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.tables import PRECISIONS, at_most
from kerascompact.ops.vocabulary_chunks import columns_in_chunks


@register
class DenseForm(Form):
    """Looks up row `i` of a stored table.

    `E[i] = table[i]`, or `table[i] * scale` with integer rows and one float32 scale per column.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        precision: Type of the stored rows: "float32", "int8" or "int4".
        scaled: Whether integers have scales; `False` if another form multiplies by them, see
            `unscaled`.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `32 V d` bits in float32, `8 V d + 32 d` in int8, `4 V d' + 32 d` in int4, with
        `d'` the next even number.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> form = DenseForm.from_arrays({"table": np.eye(3)}, input_dim=3, output_dim=3)
    >>> form.stored_as()(np.array([2])).numpy().round(6).tolist()
    [[0.0, 0.0, 1.0]]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        precision: str = "float32",
        scaled: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.precision = checks.choice("precision", precision, PRECISIONS)
        self.scaled = checks.boolean("scaled", scaled)

    def build(self, input_shape: Any = None) -> None:
        shape = (self.input_dim, self.output_dim)
        self.add_table("table", shape, self.precision, None if self.scaled else ())

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return self.rows("table", ids)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        flat = self.with_scale("table", tf.reshape(hidden, [-1, self.output_dim]))
        if self.precision == "float32":
            logits = tf.matmul(flat, self.table.value, transpose_b=True)
        else:

            def columns_of(ids: tf.Tensor) -> tf.Tensor:
                return tf.matmul(flat, self.raw_rows("table", ids), transpose_b=True)

            logits = columns_in_chunks(columns_of, self.input_dim, flat)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def quantized(self, precision: str) -> "DenseForm":
        if at_most(self.precision, precision):
            return self
        config = {**self.get_config(), "precision": precision, "scaled": True}
        return DenseForm.from_arrays(self.quantized_table("table", precision), **config)

    def unscaled(self) -> tuple[Form, np.ndarray | None]:
        if self.precision == "float32" or not self.scaled:
            return self, None
        config = {**self.get_config(), "scaled": False}
        form = DenseForm.from_arrays({"table": self.table.numpy()}, **config)
        return form, self.table_scale.numpy()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "precision": self.precision, "scaled": self.scaled}
