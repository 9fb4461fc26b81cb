"""Base of projections, whose inputs are words instead of ids."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core.embedding import BaseEmbedding, reshape_as
from kerascompact.core.projection import Projection
from kerascompact.core.registration import register
from kerascompact.ops.projection import bits_of, check_bits


@register
class NonEmptyWords(keras.Operation):
    """Finds which words have bytes or bits, as a node in a graph of layers, like Keras' masks.

    Args:
        fewest_bytes: Bytes of the shortest word that has bits, see `Projection`.

    Shapes: strings `(...)` or bits `(..., T d)` -> bool `(...)`.

    >>> NonEmptyWords()(tf.constant(["a", ""])).numpy()
    array([ True, False])
    """

    def __init__(self, fewest_bytes: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.fewest_bytes = fewest_bytes

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        if _is_text(inputs):
            return tf.strings.length(inputs) >= self.fewest_bytes
        # cast to numbers, since TFLite cannot compare bytes
        return tf.reduce_max(tf.cast(inputs, tf.float32), axis=-1) > 0

    def compute_output_spec(self, inputs: keras.KerasTensor) -> keras.KerasTensor:
        shape = inputs.shape if _is_text(inputs) else inputs.shape[:-1]
        return keras.KerasTensor(shape, "bool")


class ProjectionBase(BaseEmbedding):
    """Base of the trainable projection and its form: bits, masks and shapes of words.

    A subclass sets `projection`, `together`, `mask_zero` and `output_dim`, and defines
    `encode(bits (n, T d), ...) -> vectors (n, d)`.
    """

    projection: Projection
    together: bool

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(inputs, keras.KerasTensor | tf.RaggedTensor):
            inputs = tf.convert_to_tensor(inputs)
        return super().__call__(inputs, *args, **kwargs)

    def encoded(self, inputs: Any, encode: Any) -> Any:
        """Runs `encode` on the bits of words, one row per word.

        Args:
            inputs: Words as strings or bits.
            encode: Function of bits `(n, T d)` that gives vectors `(n, d)`.
        """
        bits = bits_of(inputs, self.projection, self.together)
        if isinstance(bits, tf.RaggedTensor):
            return bits.with_flat_values(encode(bits.flat_values))
        if bits.shape.rank == 2:
            return encode(bits)
        vectors = encode(tf.reshape(bits, [-1, self.projection.num_bits]))
        return reshape_as(vectors, bits, self.output_dim, inner=1)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        ragged = isinstance(inputs, tf.RaggedTensor) or getattr(inputs, "ragged", False)
        if ragged or self.together:
            return None
        if not self.mask_zero:
            return mask
        return NonEmptyWords(self.projection.fewest_bytes)(inputs)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], self.output_dim)

    def compute_output_spec(
        self, inputs: Any, training: Any = None, reverse: bool = False
    ) -> keras.KerasTensor:
        shape, ragged = inputs.shape, getattr(inputs, "ragged", False)
        if _is_text(inputs):
            self.supports_jit = False  # XLA has no strings
            shape = shape if self.together else (*shape, None)
        elif ragged:
            shape = shape[:-1] if self.together else shape
        else:
            check_bits(inputs, self.projection)
        shape = (*shape[:-1], self.output_dim)
        ragged = ragged and not self.together and len(shape) > 2
        return keras.KerasTensor(shape, self.compute_dtype, ragged=ragged)


def _is_text(inputs: Any) -> bool:
    return tf.as_dtype(inputs.dtype) == tf.string
