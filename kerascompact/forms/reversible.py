"""Embeddings that are called in reverse: from vectors to the logits of all words."""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.ops.sampled_softmax import Scorer, attach_scorer


class Reversible(keras.layers.Layer):
    """What embeddings and forms share: `layer(ids)`, and `layer(hidden, reverse=True)`.

    `reverse=True` gives the logits `x_v = h . E[v]` of all words under the same vectors that the
    layer looks up, so that the softmax of a language model has no table of its own. It is the call
    of `keras.layers.ReversibleEmbedding`. One layer that a model calls twice is one layer wherever
    the model goes: it is saved once, and clones, frozen models and files share it as well.

    A subclass has `input_dim`, `output_dim`, `mask_zero` and `word_logits`.

    Shapes: hidden vectors `(..., d)` -> float32 logits `(..., V)`, in mixed precision, too.
    """

    input_dim: int
    output_dim: int
    mask_zero: bool
    _in_reverse = False

    def __call__(self, inputs: Any, *args: Any, reverse: bool = False, **kwargs: Any) -> Any:
        # Keras asks for a mask after the call, and does not say which way round the call was.
        before, self._in_reverse = self._in_reverse, checks.boolean("reverse", reverse)
        try:
            if reverse:
                self.check_width(inputs)
                kwargs["reverse"] = True
            return super().__call__(inputs, *args, **kwargs)
        finally:
            self._in_reverse = before

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Logits `(..., V)` of float32 vectors `(..., d)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `word_logits`.")

    def call_in_reverse(
        self, inputs: Any, rows: Callable[[tf.Tensor], tf.Tensor] | None = None
    ) -> tf.Tensor:
        """The logits of vectors of any float type.

        In training `rows` gives the vectors `(m, d)` of ids `(m,)`, from which a loss over a sample
        of the words computes their logits.
        """
        hidden = tf.cast(ops.convert_to_tensor(inputs), tf.float32)
        scorer = None if rows is None else Scorer(hidden, rows)
        return attach_scorer(self.word_logits(hidden), scorer)

    def check_width(self, hidden: Any) -> None:
        """Raises `ValueError` if vectors do not have the embedding's width."""
        shape: tuple[int | None, ...] = tuple(getattr(hidden, "shape", ()))
        if len(shape) == 0 or shape[-1] not in (None, self.output_dim):
            raise ValueError(
                f"`inputs` must be vectors of the embedding's width, {self.output_dim}, to be "
                f"called with reverse=True. Received: the shape {shape}."
            )

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        if self._in_reverse:
            return mask
        return ops.not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape, self.output_dim)

    def compute_output_spec(
        self, inputs: Any, training: Any = None, reverse: bool = False
    ) -> keras.KerasTensor:
        if reverse:
            return keras.KerasTensor((*inputs.shape[:-1], self.input_dim), "float32")
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)
