"""Projection: a network computes vectors from the bits of words, without a vocabulary."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.core.quantize import quantize_columns
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.words import ProjectionBase
from kerascompact.ops.vocabulary_chunks import unknown_zero

NORMALIZATIONS = (None, "layer", "l2")


@register
class ProjectedForm(ProjectionBase, Form):
    """Runs a network over the bits of words.

    `v = N(relu(... relu(b W_1 + c_1) ...) W_n + c_n)`, where `b` are the `T d` bits of a word, 0 or
    1. `N` is layer normalization (`"layer"`), division by the vector's length (`"l2"`) or nothing.
    Batch normalization is folded into `W_n` and `c_n`. The hyperplanes that give the bits are
    computed and not stored.

    Args:
        projection: The `Projection` that computes the bits, or its configuration.
        output_dim: Embedding width `d`, in numbers.
        hidden_units: Widths of the layers before the last one.
        normalization: Normalization of the vectors: "layer", "l2" or `None`.
        epsilon: Number that "layer" adds to the variance.
        together: Whether the words along the last axis form one text with one vector.
        precision: Type of the kernels, "float32" or "int8".
        **kwargs: Further arguments of `Form`; with `mask_zero`, an empty word is padding.

    Shapes: strings `(...)` or bits `(..., T d)` -> vectors `(..., d)`, as `ProjectionEmbedding`;
        `input_dim` is `None`, since any word has a vector.
    Storage: `32 (r + 1) c` bits for each layer of `r` inputs and `c` outputs, `8 r c + 64 c` in
        int8; and `64 d` for "layer".
    Raises: ValueError, for a wrong argument.

    >>> arrays = {"kernel_0": np.ones((6, 2)), "bias_0": np.zeros(2)}
    >>> form = ProjectedForm.from_arrays(
    ...     arrays, projection=dict(num_projections=2, projection_dim=3), output_dim=2,
    ...     hidden_units=(),
    ... )
    >>> form(np.array([[1, 0, 1, 0, 0, 1]])).numpy()
    array([[3., 3.]], dtype=float32)

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), eq. 2.
    """

    def __init__(
        self,
        projection: Projection | Mapping[str, Any],
        output_dim: int,
        hidden_units: Sequence[int] = (2048,),
        *,
        normalization: str | None = None,
        epsilon: float = 1e-3,
        together: bool = False,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(1, output_dim, **kwargs)
        self.input_dim = None  # type: ignore[assignment]  # it has no vocabulary
        self.projection = read_projection(projection)
        self.hidden_units = widths(hidden_units)
        self.normalization = checks.choice("normalization", normalization, NORMALIZATIONS)
        self.epsilon = checks.number("epsilon", epsilon, above=0)
        self.together = checks.boolean("together", together)
        self.precision = checks.choice("precision", precision, ("float32", "int8"))

    def build(self, input_shape: Any = None) -> None:
        sizes = [self.projection.num_bits, *self.hidden_units, self.output_dim]
        for layer, shape in enumerate(zip(sizes, sizes[1:], strict=False)):
            self.add_table(f"kernel_{layer}", shape, self.precision)
            self.add_array(f"bias_{layer}", shape[1:], "float32")
        if self.normalization == "layer":
            self.add_array("gamma", (self.output_dim,), "float32")
            self.add_array("beta", (self.output_dim,), "float32")

    def encode(self, bits: tf.Tensor) -> tf.Tensor:
        """Computes float32 vectors `(n, d)` from bits `(n, T d)` of any type."""
        vectors = tf.cast(bits, tf.float32)
        zero = unknown_zero(vectors)
        for layer in range(len(self.hidden_units) + 1):
            vectors = tf.nn.relu(vectors) if layer else vectors
            bias = getattr(self, f"bias_{layer}").value
            vectors = self.times(vectors, f"kernel_{layer}", zero) + bias
        if self.normalization == "l2":
            return unit_vectors(vectors)
        if self.normalization == "layer":
            centred = vectors - tf.reduce_mean(vectors, axis=-1, keepdims=True)
            variance = tf.reduce_mean(tf.square(centred), axis=-1, keepdims=True)
            scale = tf.math.rsqrt(variance + self.epsilon) * self.gamma.value
            return centred * scale + self.beta.value
        return vectors

    def call(self, inputs: Any, reverse: bool = False, training: bool | None = None) -> Any:
        if reverse:
            checks.fail("reverse", "False: a projection has no list of words", reverse)
        found = self.encoded(inputs, self.encode)
        if isinstance(found, tf.RaggedTensor):
            return found.with_flat_values(tf.cast(found.flat_values, self.compute_dtype))
        return tf.cast(found, self.compute_dtype)

    def quantized(self, precision: str) -> "ProjectedForm":
        if self.precision == "int8":  # kernels stay int8 if "int4" is wanted
            return self
        arrays = {variable.name: variable.numpy() for variable in self.variables}
        for layer in range(len(self.hidden_units) + 1):
            name = f"kernel_{layer}"
            arrays[name], arrays[f"{name}_scale"] = quantize_columns(arrays[name])
        return type(self).from_arrays(arrays, **{**self.get_config(), "precision": "int8"})

    @property
    def float32_bits(self) -> int:
        """Bits of the same network in float32, since there is no table that it replaces."""
        sizes = [self.projection.num_bits, *self.hidden_units, self.output_dim]
        return 32 * sum((r + 1) * c for r, c in zip(sizes, sizes[1:], strict=False))

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["input_dim"]
        return {
            **config,
            "projection": self.projection.get_config(),
            "hidden_units": list(self.hidden_units),
            "normalization": self.normalization,
            "epsilon": self.epsilon,
            "together": self.together,
            "precision": self.precision,
        }


def read_projection(projection: Any) -> Projection:
    """Reads a `Projection` from itself, from its configuration or from `None` (the default).

    Raises: ValueError, if it is something else.

    >>> read_projection({"seed": 3}).seed
    3
    """
    if projection is None:
        return Projection()
    if isinstance(projection, Mapping):
        return Projection(**projection)
    if not isinstance(projection, Projection):
        checks.fail("projection", "a kerascompact.core.projection.Projection", projection)
    return projection


def widths(hidden_units: Any) -> tuple[int, ...]:
    """Checks the widths of hidden layers and returns them as a tuple.

    Raises: ValueError, if they are not a list of positive integers.

    >>> widths([4, 2])
    (4, 2)
    """
    if not isinstance(hidden_units, Sequence) or isinstance(hidden_units, str):
        checks.fail("hidden_units", "a list of widths", hidden_units)
    return tuple(checks.integer_in("hidden_units", units, 1) for units in hidden_units)


def unit_vectors(vectors: tf.Tensor) -> tf.Tensor:
    """Divides vectors by their lengths; a vector of zeros stays as it is.

    >>> unit_vectors(tf.constant([[3.0, 4.0]])).numpy()
    array([[0.6, 0.8]], dtype=float32)
    """
    squares = tf.reduce_sum(tf.square(vectors), axis=-1, keepdims=True)
    return vectors * tf.math.rsqrt(tf.maximum(squares, 1e-12))
