"""Regularization of the outputs of a recurrent layer, and of their changes between steps."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class ActivationRegularization(keras.layers.Layer):
    """Adds activation and temporal activation regularization of its inputs to the loss.

    `alpha mean(h_t^2) + beta mean((h_t - h_{t-1})^2)`, means over texts, units and unmasked
    steps. Only training adds it, so `val_loss` stays comparable. AWD-LSTM has
    two: `beta` on the outputs of its last LSTM, `alpha` on these after dropout.

    Args:
        activation_weight: `alpha`, weight of the activations; AWD-LSTM uses 2.
        change_weight: `beta`, weight of their changes between steps; AWD-LSTM uses 1.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: `(batch, steps, d)` -> the same.
    Storage: nothing.
    Raises: ValueError, if a weight is negative.
    Example:
    >>> layer = ActivationRegularization(activation_weight=2.0, change_weight=1.0)
    >>> h = layer(np.array([[[1.0], [3.0]]], "float32"), training=True)
    >>> float(layer.losses[0])  # 2 (1 + 9) / 2 + (3 - 1)^2
    14.0

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 4.6.
    Differs: means of squares, as the paper's code has, where the paper writes an L2 norm.
    """

    EXAMPLE = dict(activation_weight=2.0, change_weight=1.0)

    def __init__(
        self, activation_weight: float = 0.0, change_weight: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.activation_weight = checks.number("activation_weight", activation_weight, at_least=0)
        self.change_weight = checks.number("change_weight", change_weight, at_least=0)
        self.supports_masking = True

    def call(self, hidden: Any, mask: Any = None, training: bool = False) -> Any:
        if training and (self.activation_weight or self.change_weight):
            self.add_loss(self.penalty(ops.cast(hidden, "float32"), mask))
        return hidden

    def penalty(self, hidden: tf.Tensor, mask: Any = None) -> tf.Tensor:
        """The loss of outputs `(batch, steps, d)`."""
        total = tf.zeros([])
        if self.activation_weight:
            total += self.activation_weight * _mean(tf.square(hidden), mask)
        if self.change_weight:
            both = None if mask is None else tf.logical_and(mask[:, 1:], mask[:, :-1])
            total += self.change_weight * _mean(tf.square(hidden[:, 1:] - hidden[:, :-1]), both)
        return total

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "activation_weight": self.activation_weight,
            "change_weight": self.change_weight,
        }


def _mean(squares: tf.Tensor, mask: Any) -> tf.Tensor:
    """Mean over all entries of the steps that count; 0, if there is none."""
    of_step = tf.reduce_mean(squares, axis=-1)
    weights = tf.ones_like(of_step) if mask is None else tf.cast(mask, tf.float32)
    return tf.math.divide_no_nan(tf.reduce_sum(of_step * weights), tf.reduce_sum(weights))
