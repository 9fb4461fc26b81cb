"""Layer of products over several axes whose kernel is a form, as attention has them."""

from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.logits import LogitsForm
from kerascompact.ops.vocabulary_chunks import id_range, unknown_zero


@register
class EinsumForm(LogitsForm):
    """Multiplies axes of its inputs by a kernel that is stored as a form.

    `y = activation(einsum(equation, x, K) + b)`, with the kernel `K` a transposed table of the part
    in another shape: what an `EinsumDense` of attention computes, such as "abc,cde->abde". A kernel
    with its inputs first, as in this equation, is multiplied in pieces, and else as a whole.

    Args:
        input_dim: Rows `V` of the part.
        output_dim: Width `d` of the part.
        part: Form of `V` rows and width `d`.
        use_bias: Whether a bias `b` is added, a number for each output.
        activation: Activation, as in `keras.layers.Dense`.
        equation: Axes of inputs, kernel and outputs, as in `keras.layers.EinsumDense`; the outputs
            end in the axes that only the kernel has, in its order.
        kernel_shape: Sizes of the kernel's axes.
        **kwargs: Further arguments of `Form`, such as `name`.

    Shapes: those of the equation.
    Storage: the bits of the part, and 32 for each number of the bias.
    Raises: ValueError, for a wrong argument, or if sizes do not fit.

    Example:
    >>> from kerascompact.forms import DenseForm
    >>> part = DenseForm.from_arrays({"table": np.eye(4)}, input_dim=4, output_dim=4)
    >>> form = EinsumForm.over(part, equation="ab,bcd->acd", kernel_shape=[4, 2, 2])
    >>> form(np.array([[1.0, 2.0, 3.0, 4.0]])).numpy().tolist()
    [[[1.0, 2.0], [3.0, 4.0]]]

    Reference: `keras.layers.EinsumDense`.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        part: Form,
        use_bias: bool = True,
        activation: Any = None,
        *,
        equation: str,
        kernel_shape: Any,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, part, use_bias, activation, **kwargs)
        self.equation, self.kernel_shape = equation, [int(size) for size in kernel_shape]
        if int(np.prod(self.kernel_shape)) != self.input_dim * self.output_dim:
            expected = f"sizes whose product is {self.input_dim * self.output_dim}"
            checks.fail("kernel_shape", expected, self.kernel_shape)
        given, rest = equation.replace(" ", "").replace("...", "").split(",")
        kernel, made = rest.split("->")
        sizes = dict(zip(kernel, self.kernel_shape, strict=True))
        self.summed = [sizes[axis] for axis in kernel if axis not in made]
        self.made = [sizes[axis] for axis in kernel if axis in made]
        inputs = "".join(axis for axis in kernel if axis not in made)
        outputs = "".join(axis for axis in kernel if axis in made)
        lead = made.removesuffix(outputs)
        if lead + outputs != made or given != lead + inputs:
            expected = "one whose inputs end in the axes that are summed, and outputs in new axes"
            checks.fail("equation", expected, equation)
        self.in_pieces = kernel == inputs + outputs

    def with_part(self, part: Form, **config: Any) -> Self:
        own = {"equation": self.equation, "kernel_shape": self.kernel_shape}
        return super().with_part(part, **own, **config)

    def build(self, input_shape: Any = None) -> None:
        if not self.part.built:
            self.part.build()
        if self.use_bias:
            self.add_array("bias", (int(np.prod(self.made)),), "float32")
        self.built = True

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Outputs in one axis, before the activation."""
        if self.in_pieces:
            found = self.part.word_logits(hidden)
        else:
            ids = id_range(unknown_zero(hidden), self.input_dim)
            kernel = tf.reshape(tf.transpose(self.part.lookup(ids)), self.kernel_shape)
            axes = self.equation.replace(" ", "").split("->")[0].split(",")[1]
            made = self.equation.split("->")[1]
            order = [axes.index(axis) for axis in axes if axis not in made]
            order += [axes.index(axis) for axis in axes if axis in made]
            matrix = tf.reshape(tf.transpose(kernel, order), [int(np.prod(self.summed)), -1])
            found = tf.matmul(hidden, matrix)
        return found + self.bias.value if self.use_bias else found

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> tf.Tensor:
        hidden = keras.ops.cast(keras.ops.convert_to_tensor(inputs), "float32")
        lead = keras.ops.shape(hidden)[: len(hidden.shape) - len(self.summed)]
        flat = keras.ops.reshape(hidden, (*lead, int(np.prod(self.summed))))
        made = self.activation(self.word_logits(flat))
        return tf.cast(keras.ops.reshape(made, (*lead, *self.made)), self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[: len(input_shape) - len(self.summed)], *self.made)

    def get_config(self) -> dict[str, Any]:
        own = {"equation": self.equation, "kernel_shape": self.kernel_shape}
        return {**super().get_config(), **own}
