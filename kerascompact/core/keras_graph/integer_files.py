"""Keras' layers as a TFLite file of integers can hold them, while a model is traced for it."""

import contextlib
import functools
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import nn as backend

from kerascompact.core.integer_mean import integer_means
from kerascompact.core.keras_graph.integer_functions import integer_functions
from kerascompact.core.keras_graph.replacing import replaced
from kerascompact.core.masked_mean import masked_mean

MARGIN = 16.0  # below the least score: a masked one has at most e^-16 of its share


def for_integer_files() -> contextlib.AbstractContextManager[None]:
    """Context in which Keras' layers compute what tensors of integers can hold.

    - Attention writes `min(scores) - 16` to masked scores, not -1e9. A softmax gives them nothing
      either way, but a tensor has one scale, and beside -1e9 all scores are the same integer.
    - Functions of `keras.ops` are those of `integer_functions`.
    - The mean of no vectors is zero, as that of `MaskedMean`, and no mean is a sum of integers
      divided by their number, see `core.integer_mean`.

    >>> x, mask = keras.ops.array([[3.0, 4.0, 5.0]]), keras.ops.array([[True, True, False]])
    >>> wanted = keras.layers.Softmax()(x, mask=mask)
    >>> with for_integer_files():
    ...     found = keras.layers.Softmax()(x, mask=mask)
    >>> bool(keras.ops.all(keras.ops.abs(found - wanted) < 1e-6))
    True
    """
    attention, softmax = keras.layers.Attention, keras.layers.Softmax
    pooling = keras.layers.GlobalAveragePooling1D
    apply_masks, apply_scores = backend._apply_masks, attention._apply_scores
    call, average = softmax.call, pooling.call
    leaves_none = _leaves_none()  # before the layer is another

    def masked_logits(logits: Any, mask: Any, is_causal: bool) -> Any:
        """In `keras.ops.dot_product_attention`."""
        with replaced({(backend, "_get_large_negative"): lambda dtype: _low(logits)}):
            return apply_masks(logits, mask, is_causal)

    def masked_scores(
        self: Any, scores: Any, value: Any, scores_mask: Any = None, training: bool = False
    ) -> Any:
        """In `keras.layers.Attention`."""
        if scores_mask is not None:
            if len(scores_mask.shape) == 2:
                scores_mask = keras.ops.expand_dims(scores_mask, axis=-2)
            scores = keras.ops.where(scores_mask, scores, _low(scores))
        return apply_scores(self, scores, value, None, training)

    def masked_softmax(self: Any, inputs: Any, mask: Any = None) -> Any:
        """In `keras.layers.Softmax`, which `MultiHeadAttention` and keras-hub call."""
        if mask is None:
            return call(self, inputs)
        if keras.backend.standardize_dtype(mask.dtype) != "bool":
            mask = keras.ops.greater(mask, keras.ops.cast(0.5, mask.dtype))
        found = call(self, keras.ops.where(mask, inputs, _low(inputs, self.axis)))
        return keras.ops.where(mask, found, 0.0) if leaves_none else found

    def masked_average(self: Any, inputs: Any, mask: Any = None) -> Any:
        """In `keras.layers.GlobalAveragePooling1D`."""
        if mask is None:
            return average(self, inputs)
        first = self.data_format == "channels_first"
        mean = masked_mean(keras.ops.swapaxes(inputs, 1, 2) if first else inputs, mask)
        axis = 2 if first else 1
        return keras.ops.expand_dims(mean, axis) if self.keepdims else mean

    return replaced(
        {
            **integer_functions(),
            **integer_means(),
            (backend, "_apply_masks"): masked_logits,
            (attention, "_apply_scores"): masked_scores,
            (softmax, "call"): masked_softmax,
            (pooling, "call"): masked_average,
        }
    )


def _low(scores: Any, axis: Any = -1) -> Any:
    """A number for masked scores that is below all scores of their softmax."""
    return keras.ops.min(scores, axis=axis, keepdims=True) - MARGIN


@functools.cache
def _leaves_none() -> bool:
    """Whether `keras.layers.Softmax` gives 0 where all is masked, as it does from Keras 3.14 on."""
    with tf.init_scope():
        x = tf.zeros((1, 2))
        return not bool(tf.reduce_any(keras.layers.Softmax()(x, mask=tf.cast(x, "bool")) != 0))
