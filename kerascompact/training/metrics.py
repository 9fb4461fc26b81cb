"""Perplexity of a language model."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import mask_of
from kerascompact.core.registration import register
from kerascompact.ops.cross_entropy import sparse_cross_entropy
from kerascompact.training.losses import labels_for


@register
class Perplexity(keras.metrics.Metric):
    """Perplexity over all tokens seen so far, from logits.

    `exp(sum_t w_t l_t / sum_t w_t)`, `l_t = -log p(y_t)` in nats and `w_t` the sample weight (1
    without), 0 where the model masks. Sum and count run over all batches, so that a
    short last batch counts by its tokens.

    The sums are float64: float32 stops counting at 2^24 = 17 million tokens.

    Args:
        jit_compile: Whether XLA compiles the loss, see `SparseSoftmaxCrossEntropy`.
        name: Name of the metric.
        **kwargs: Arguments of `keras.metrics.Metric`.

    Shapes: labels `(...)` or `(..., 1)`, logits `(..., V)`, weights that broadcast to `(...)`, or
        lack its last axes; also `(..., 1)`.
    Raises: ValueError, if labels and logits do not fit each other.
    Example:
    >>> metric = Perplexity()
    >>> metric.update_state(tf.constant([1, 0]), tf.math.log([[0.5, 0.5], [0.125, 0.875]]))
    >>> round(float(metric.result()), 4)  # exp(mean(log 2, log 8)) = 4
    4.0

    Reference: [Zaremba et al., 2014](https://arxiv.org/abs/1409.2329), sec. 4.1 (average per-word
    perplexity).
    """

    def __init__(self, jit_compile: bool = True, name: str = "perplexity", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.jit_compile = checks.boolean("jit_compile", jit_compile)
        self.total = self.add_variable((), "zeros", dtype="float64", name="total")
        self.count = self.add_variable((), "zeros", dtype="float64", name="count")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        mask = mask_of(y_pred)  # where Keras' own losses find it
        y_pred = tf.convert_to_tensor(y_pred)
        # Cast as Keras casts them for a loss: TensorFlow then sees that `SparseSoftmaxCrossEntropy`
        # needs the same numbers, computes them once, and the metric costs nothing.
        labels = labels_for(tf.cast(y_true, tf.float32), y_pred)
        losses = sparse_cross_entropy(labels, y_pred, self.jit_compile)
        weights = tf.ones_like(losses)
        if mask is not None:
            weights *= tf.cast(mask, tf.float32)
        if sample_weight is not None:
            weights *= _fit(tf.cast(sample_weight, tf.float32), losses)
        # A token of weight 0 may have any label, also one whose loss is NaN.
        losses = tf.where(weights == 0, 0.0, losses)
        self.total.assign_add(tf.cast(tf.reduce_sum(losses * weights), tf.float64))
        self.count.assign_add(tf.cast(tf.reduce_sum(weights), tf.float64))

    def result(self) -> tf.Tensor:
        return tf.cast(tf.exp(tf.math.divide_no_nan(self.total, self.count)), tf.float32)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "jit_compile": self.jit_compile}


def _fit(weights: tf.Tensor, losses: tf.Tensor) -> tf.Tensor:
    """Weights with an axis of one for each axis that they lack, such as `(batch, 1)`.

    Without the last of `(..., 1)`, as Keras' metrics take weights.
    """
    missing = losses.shape.rank - weights.shape.rank
    if missing == -1 and weights.shape[-1] == 1:
        return tf.squeeze(weights, axis=-1)
    return weights[(..., *[None] * missing)] if missing > 0 else weights
