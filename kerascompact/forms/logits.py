"""Dense layer whose kernel is a form."""

from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.base import Form, read_form


@register
class LogitsForm(Form):
    """Multiplies vectors by a kernel that is stored as a form, with a row for each output.

    `y = activation(E x + b)`, with the rows `E[v]` of the form: what a `Dense` layer computes with
    the kernel `E^T`. Every form can store a kernel this way, from packed integers to codes.

    Args:
        input_dim: Number of outputs `V`, the rows of the part.
        output_dim: Width `d` of the vectors.
        part: Form of `V` rows and width `d`.
        use_bias: Whether a bias `b` is added.
        activation: Activation, as in `keras.layers.Dense`.
        **kwargs: Further arguments of `Form`, such as `name`.

    Shapes: vectors `(..., d)` -> outputs `(..., V)`.
    Storage: the bits of the part, and `32 V` for the bias.
    Raises: ValueError, for a wrong argument, or if the part has other sizes.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> part = DenseForm.from_arrays({"table": np.eye(2)}, input_dim=2, output_dim=2)
    >>> LogitsForm.over(part, np.array([0.0, 1.0]))(np.array([[3.0, 4.0]])).numpy().tolist()
    [[3.0, 5.0]]

    Reference: `keras.layers.Dense`.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        part: Form,
        use_bias: bool = True,
        activation: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.part = read_form("part", part)
        self.use_bias = checks.boolean("use_bias", use_bias)
        self.activation = keras.activations.get(activation)
        sizes = (self.part.input_dim, self.part.output_dim)
        if sizes != (self.input_dim, self.output_dim):
            expected = f"a form of {self.input_dim} rows of width {self.output_dim}"
            checks.fail("part", expected, f"one of {sizes[0]} rows of width {sizes[1]}")

    @classmethod
    def over(
        cls, part: Form, bias: np.ndarray | None = None, activation: Any = None, **config: Any
    ) -> Self:
        """Builds the layer over a form.

        Args:
            part: Form of the kernel, a row for each output.
            bias: The bias, `(V,)`, or `None`.
            activation: Activation, as in `keras.layers.Dense`.
            **config: Further arguments, such as `name`.
        """
        sizes = (part.input_dim, part.output_dim)
        form = cls(*sizes, part, bias is not None, activation, **config)
        form.build()
        if bias is not None:
            form.bias.assign(checks.finite("bias", np.asarray(bias)))
        return form

    def with_part(self, part: Form, **config: Any) -> Self:
        """The same layer over another form of the kernel."""
        bias = keras.ops.convert_to_numpy(self.bias) if self.use_bias else None
        own = {"name": self.name, "paper_bits": self.paper_bits, "dtype": self.dtype_policy}
        given = {**own, **config}
        return type(self).over(part, bias, self.activation, **given)

    def build(self, input_shape: Any = None) -> None:
        if not self.part.built:
            self.part.build()
        if self.use_bias:
            self.add_array("bias", (self.input_dim,), "float32")
        self.built = True

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Looks up rows of the kernel."""
        return self.part.lookup(ids)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        logits = self.part.word_logits(hidden)
        return logits + self.bias.value if self.use_bias else logits

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> tf.Tensor:
        self.check_width(inputs)
        hidden = tf.cast(keras.ops.convert_to_tensor(inputs), tf.float32)
        return tf.cast(self.activation(self.word_logits(hidden)), self.compute_dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], self.input_dim)

    def compute_output_spec(
        self, inputs: Any, training: Any = None, reverse: bool = False
    ) -> keras.KerasTensor:
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def quantized(self, precision: str) -> Form:
        part = self.part.quantized(precision)
        return self if part is self.part else self.with_part(part)

    def storage(self) -> list[Stored]:
        inside = [one._replace(name=f"part/{one.name}") for one in self.part.storage()]
        return [*inside, *super().storage()]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "part": keras.saving.serialize_keras_object(self.part),
            "use_bias": self.use_bias,
            "activation": keras.activations.serialize(self.activation),
        }
