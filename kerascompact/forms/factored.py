"""Factored table: a narrow form times a matrix."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form, read_form
from kerascompact.forms.tables import at_most
from kerascompact.ops.vocabulary_chunks import unknown_zero


@register
class FactoredForm(Form):
    """Multiplies the vectors of another form by a matrix.

    `E[i] = part[i] @ H` or `part[i] @ H + b`, with `H: (r, d)`. It stores low-rank tables and the
    hidden layer behind the codes of KD encoding.

    When it is quantized, `H` takes over the column scales of the part:
    `x * s @ H = x @ (s[:, None] H)` with the integers `x` of the part, so `s` is neither stored nor
    multiplied. `H` is then int8 with a scale for each output column, even if the part is int4: with
    random codes (K = D = 32, from 100 to 300 columns), int4 codebooks have a root mean square error
    of 11 %; an int4 `H` would raise it to 15 % and save 5 % of the bytes at 10,000 words.

    Args:
        input_dim: Vocabulary size `V` of the part.
        output_dim: Embedding width `d`, in numbers.
        part: Form of width `r` whose vectors are multiplied.
        use_bias: Whether a bias `b` is added.
        precision: Type of `H`, "float32" or "int8".
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: the bits of the part, `32 r d` for `H` and `32 d` for `b`. With int8 the part has no
        scales, and `H` takes `8 r d + 32 d`.
    Raises: ValueError, for a wrong argument, or if the part has another vocabulary size.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> part = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> FactoredForm.from_parts(part, np.array([[1, 2, 3], [4, 5, 6]]))(np.array([1])).numpy()
    array([[4., 5., 6.]], dtype=float32)

    Reference: [Lan et al., ICLR 2020](https://arxiv.org/abs/1909.11942), sec. 3.1;
    [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 2.3.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        part: Form,
        use_bias: bool = False,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.part = read_form("part", part)
        if self.part.input_dim != self.input_dim:
            checks.fail("input_dim", f"the part's vocabulary, {self.part.input_dim}", input_dim)
        self.use_bias = checks.boolean("use_bias", use_bias)
        self.precision = checks.choice("precision", precision, ("float32", "int8"))

    @classmethod
    def from_parts(
        cls, part: Form, kernel: np.ndarray, bias: np.ndarray | None = None, **config: Any
    ) -> "FactoredForm":
        """Builds the form from float arrays.

        Args:
            part: Form of width `r`.
            kernel: The matrix `H`, `(r, d)`.
            bias: The bias `b`, `(d,)`, or `None`.
            **config: Further arguments of the form.

        Raises: ValueError, if the kernel does not fit the part.
        """
        kernel = checks.finite("kernel", np.asarray(kernel))
        if kernel.ndim != 2 or len(kernel) != part.output_dim:
            raise ValueError(
                f"`kernel` must have the shape ({part.output_dim}, d), a row for each column of the"
                f" part. Received: {kernel.shape}."
            )
        arrays = {"kernel": kernel}
        if bias is not None:
            arrays["bias"] = checks.finite("bias", np.asarray(bias))
        return cls.from_arrays(
            arrays,
            input_dim=part.input_dim,
            output_dim=kernel.shape[1],
            part=part,
            use_bias=bias is not None,
            **config,
        )

    def build(self, input_shape: Any = None) -> None:
        if not self.part.built:
            self.part.build()
        self.add_table("kernel", (self.part.output_dim, self.output_dim), self.precision)
        if self.use_bias:
            self.add_array("bias", (self.output_dim,), "float32")

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        zero = tf.minimum(tf.reduce_min(ids), 0)
        vectors = self.times(self.part.lookup(ids), "kernel", zero)
        return vectors + self.bias.value if self.use_bias else vectors

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes the part's logits of `h @ H^T`, plus `h . b`, which is equal for all words."""
        flat, zero = tf.reshape(hidden, [-1, self.output_dim]), unknown_zero(hidden)
        if self.precision == "float32":
            # Transposed as for `lookup`, or else the converter stores the matrix a second time.
            kernel = tf.gather(tf.expand_dims(tf.transpose(self.kernel.value), 0), zero)
            narrow = tf.matmul(flat, kernel)
        else:
            kernel = self.full_table("kernel", zero)
            narrow = tf.matmul(self.with_scale("kernel", flat), kernel, transpose_b=True)
        narrow = reshape_as(narrow, hidden[..., 0], self.part.output_dim)
        logits = self.part.word_logits(narrow)
        if not self.use_bias:
            return logits
        return logits + tf.reduce_sum(hidden * self.bias.value, axis=-1, keepdims=True)

    def storage(self) -> list[Stored]:
        return [
            *(s._replace(name=f"part/{s.name}") for s in self.part.storage()),
            *super().storage(),
        ]

    def with_part(self, part: Form) -> "FactoredForm":
        """The same matrix behind another part of the same width."""
        names = ("kernel", "kernel_scale", "bias")
        arrays = {name: getattr(self, name).numpy() for name in names if hasattr(self, name)}
        return FactoredForm.from_arrays(arrays, **{**self.get_config(), "part": part})

    def quantized(self, precision: str) -> "FactoredForm":
        part, scale = self.part.quantized(precision).unscaled()
        if part is self.part and at_most(self.precision, "int8"):
            return self
        kernel = self.table_values("kernel")
        if scale is not None:
            kernel = scale[:, None] * kernel
        codes, scale = quantize_columns(kernel)
        arrays = {"kernel": codes, "kernel_scale": scale}
        if self.use_bias:
            arrays["bias"] = self.bias.numpy()
        config = {**self.get_config(), "part": part, "precision": "int8"}
        return FactoredForm.from_arrays(arrays, **config)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "part": keras.saving.serialize_keras_object(self.part),
            "use_bias": self.use_bias,
            "precision": self.precision,
        }
