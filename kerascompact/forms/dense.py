"""One stored row per id."""

from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import PRECISIONS, Form


@register
class DenseForm(Form):
    """Looks up row `i` of a stored table.

    `E[i] = table[i]`, or `table[i] * scale` with int8 rows and one float32 scale per column.

    Args:
        input_dim: Vocabulary size `V`.
        output_dim: Embedding width `d`.
        precision: "float32" or "int8", the type of the stored rows.
        **kwargs: Those of `Form`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `32 V d` bits, or `8 V d + 32 d`.
    Raises: ValueError, for a wrong argument or an id out of range.

    >>> form = DenseForm.from_arrays({"table": np.eye(3)}, input_dim=3, output_dim=3)
    >>> form.quantize()(np.array([2])).numpy().round(6).tolist()
    [[0.0, 0.0, 1.0]]
    """

    def __init__(
        self, input_dim: int, output_dim: int, precision: str = "float32", **kwargs: Any
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.precision = checks.choice("precision", precision, PRECISIONS)

    def build(self, input_shape: Any = None) -> None:
        self.add_table("table", (self.input_dim, self.output_dim), self.precision)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return self.rows("table", ids)

    def quantized(self) -> "DenseForm":
        if self.precision == "int8":
            return self
        config = {**self.get_config(), "precision": "int8"}
        return DenseForm.from_arrays(self.quantized_table("table"), **config)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "precision": self.precision}
