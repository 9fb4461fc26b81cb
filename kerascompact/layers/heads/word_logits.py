"""Dense output layer for a large vocabulary."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.core.word_scorer import Scorer, attach_scorer


@register
class WordLogits(keras.layers.Layer):
    """Dense layer to logits of all words, which a loss may train by a sample of words.

    `x_v = W[v] . h + b_v`. It is a `Dense` layer with its kernel the other way round, a row per
    word: with `training.SampledSoftmaxCrossEntropy`, or `NoiseContrastiveEstimation`, a step of
    `fit(ids, targets)` reads and changes only the rows of the sampled words and of the labels
    (`optimizers.LazySGD`, `LazyAdam`), and the logits of all others are not computed, unless a
    metric of training asks for them. Everywhere else the softmax is full: in `evaluate`, in
    `predict`, in a file.

    How it works: the layer always returns all logits. In training it also attaches to them how they
    were made, as Keras attaches a mask; the loss computes from that what it needs, and TensorFlow
    drops from the graph what nothing uses. So the model has one input and one output, any other
    loss trains it as well (by the full softmax), and nothing of the sampling is saved with it.
    It must be the model's last layer: these two losses refuse what an activation, a scaling or a
    cast has made of its logits. With `run_eagerly=True` all logits are computed.

    Args:
        num_words: Number of words `V`. Sampling needs ids ordered by frequency, most frequent
            first.
        use_bias: Whether to add a bias `b`.
        kernel_initializer: Initializer of `W`. Default: Glorot's uniform, as in `Dense`.
        bias_initializer: Initializer of the bias `b`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors `(..., d)` -> float32 logits `(..., V)`, also in mixed precision.
    Storage: `32 V (d + 1)` bits.
    Raises: ValueError, if `num_words` is no integer above 0.
    Example:
    >>> head = WordLogits(10_000)
    >>> head(np.zeros((2, 5, 8))).shape
    TensorShape([2, 5, 10000])

    Reference: `keras.layers.Dense`; for the sampling
    [Jean et al., ACL 2015](https://arxiv.org/abs/1412.2007), sec. 3.1.
    """

    def __init__(
        self,
        num_words: int,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.num_words = checks.integer_in("num_words", num_words, 1)
        self.use_bias = checks.boolean("use_bias", use_bias)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        self.kernel = self._add("kernel", (self.num_words, input_shape[-1]))
        if self.use_bias:
            self.bias = self._add("bias", (self.num_words,))

    def _add(self, name: str, shape: tuple[int, ...]) -> keras.Variable:
        initializer = getattr(self, f"{name}_initializer").clone()
        return self.add_weight(
            shape=shape, initializer=initializer, dtype="float32", autocast=False, name=name
        )

    def call(self, hidden: Any, training: bool | None = None) -> tf.Tensor:
        hidden = tf.cast(ops.convert_to_tensor(hidden), tf.float32)
        flat = tf.reshape(hidden, [-1, hidden.shape[-1]])
        logits = tf.matmul(flat, self.kernel.value, transpose_b=True)
        if self.use_bias:
            logits += self.bias.value
        logits = reshape_as(logits, hidden[..., 0], self.num_words)
        return attach_scorer(logits, self.scorer(hidden) if training else None)

    def scorer(self, hidden: tf.Tensor) -> Scorer:
        """What computes logits of some words only."""
        bias = (lambda ids: tf.gather(self.bias.value, ids)) if self.use_bias else None
        return Scorer(hidden, lambda ids: tf.gather(self.kernel.value, ids), bias)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], self.num_words)

    def compute_output_spec(self, hidden: Any, training: Any = None) -> keras.KerasTensor:
        return keras.KerasTensor(self.compute_output_shape(hidden.shape), "float32")

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_words": self.num_words,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
        }
