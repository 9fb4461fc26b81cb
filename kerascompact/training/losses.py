"""Softmax losses of large vocabularies: over all words, and over a sample of them."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import in_symbolic_scope
from kerascompact.core.registration import register
from kerascompact.core.word_scorer import Scorer, scorer_of
from kerascompact.ops.cross_entropy import sparse_cross_entropy
from kerascompact.ops.sampled_softmax import Candidates, log_uniform_candidates, sampled_loss


@register
class SparseSoftmaxCrossEntropy(keras.losses.Loss):
    """Cross entropy of integer labels from logits, compiled by XLA in any training step.

    `l = log sum_v exp(x_v) - x_y`, then the mean over positions (`reduction`), with masks and
    sample weights as in every Keras loss. Same numbers as
    `keras.losses.SparseCategoricalCrossentropy(from_logits=True)`.

    A model with LSTMs is faster without `jit_compile` on a CPU, but its loss over a large
    vocabulary is not: for logits `(400, 10,000)` 3.6 ms instead of 19 ms, forward and backward.

    Args:
        jit_compile: Whether XLA compiles the loss, once for every shape of the logits: turn it off
            where each batch has a shape of its own. Under `tf.distribute.MirroredStrategy` it works
            as well, although Keras' own `jit_compile=True` does not.
        name: Name of the loss.
        reduction: Reduction of the losses, a name that `keras.losses.Loss` takes.

    Shapes: labels `(...)` or `(..., 1)`, integers in `[0, V)`; logits `(..., V)` of any float
        type, `V <= 2^24`. A label out of range gives NaN (an error, where nothing is compiled and
        on a CPU).
    Raises: ValueError, if labels and logits do not fit each other.
    Example:
    >>> model = keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.Dense(9)])
    >>> model.compile("sgd", SparseSoftmaxCrossEntropy())
    >>> history = model.fit(np.array([[1, 2]]), np.array([[2, 3]]), verbose=0)
    >>> round(history.history["loss"][0], 1)  # log 9
    2.2
    """

    def __init__(
        self,
        jit_compile: bool = True,
        name: str = "sparse_softmax_cross_entropy",
        reduction: Any = "sum_over_batch_size",
    ) -> None:
        # float32 in any policy: Keras turns the labels into numbers of this type.
        super().__init__(name=name, reduction=reduction, dtype="float32")
        self.jit_compile = checks.boolean("jit_compile", jit_compile)

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        labels = labels_for(y_true, y_pred)
        return sparse_cross_entropy(labels, y_pred, self.jit_compile)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "jit_compile": self.jit_compile}


@register
class SampledSoftmaxCrossEntropy(SparseSoftmaxCrossEntropy):
    """Cross entropy over a sample of the vocabulary in training, over all of it in evaluation.

    `l = log(exp(x_y) + sum_k [v_k != y] exp(x_{v_k} - log(S p(v_k)))) - x_y` with `S` words `v_k`
    drawn anew in each step by Zipf's law `p`, the same for the whole batch. It is an estimate of
    the full loss, from below, and tends to it as `S` grows.

    The logits must come from `layers.WordLogits`, or from an embedding called with `reverse=True`
    (and its `layers.WordBias`), as the last layer of the model: these tell the loss how to compute
    some of their logits, see `WordLogits`. Other logits are refused, be it the output of `Dense` or
    of an activation behind `WordLogits`. What is called with `training=False` gives the full loss,
    as `evaluate` does: `val_loss` is the full cross entropy, and its exponential the perplexity. A
    training step of your own must call the model with `training=True`. A metric of training that
    reads logits brings the full softmax back.

    Args:
        num_sampled: Number of words `S` drawn in a step, with replacement.
        seed: Seed of the draws.
        name: Name of the loss.
        **kwargs: Arguments of `SparseSoftmaxCrossEntropy`; `jit_compile` applies to the full loss.

    Shapes: labels `(...)` or `(..., 1)`, in `[0, V)`, ids ordered by frequency, the most frequent
        first; logits `(..., V)`. A label out of range gives NaN under XLA, and an error without.
    Raises: ValueError, if `num_sampled` is no integer above 0, or the logits come from elsewhere.
    Example:
    >>> from kerascompact.layers import WordLogits
    >>> model = keras.Sequential([keras.layers.Embedding(99, 4), WordLogits(99)])
    >>> model.compile("sgd", SampledSoftmaxCrossEntropy(num_sampled=8))
    >>> history = model.fit(np.array([[1, 2]]), np.array([[2, 3]]), verbose=0)

    Reference: [Jean et al., ACL 2015](https://arxiv.org/abs/1412.2007), sec. 3.1.
    Differs: words are drawn by Zipf's law instead of evenly from a part of the vocabulary; the
    label has weight 1, see `ops.sampled_softmax`.
    """

    def __init__(
        self,
        num_sampled: int,
        seed: int | None = None,
        name: str = "sampled_softmax_cross_entropy",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.num_sampled = checks.integer_in("num_sampled", num_sampled, 1)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.noise = keras.random.SeedGenerator(seed)

    def call(self, y_true: Any, y_pred: Any) -> tf.Tensor:
        # Keras asks for shapes with tensors that no layer has made.
        scorer = None if in_symbolic_scope() else scorer_of(y_pred)
        if scorer is None:
            return super().call(y_true, y_pred)
        labels = tf.cast(labels_for(y_true, y_pred), tf.int32)
        candidates = log_uniform_candidates(self.num_sampled, y_pred.shape[-1], self.noise)
        losses = self.loss_of_sample(labels, scorer, candidates, y_pred.shape[-1])
        # XLA reads the nearest row for a label that is none.
        known = (labels >= 0) & (labels < y_pred.shape[-1])
        return tf.where(known, losses, tf.constant(float("nan"), losses.dtype))

    def loss_of_sample(
        self, labels: tf.Tensor, scorer: Scorer, candidates: Candidates, num_words: int
    ) -> tf.Tensor:
        """Losses of int32 labels `(...)`, of `V` words, in a step of training."""
        return sampled_loss(labels, scorer, candidates)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_sampled": self.num_sampled, "seed": self.seed}


def labels_for(y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
    """Labels `(...)` of logits `(..., V)`, given so or as `(..., 1)`.

    Raises: ValueError, if the shapes do not fit, or float32 cannot count up to `V`.

    >>> labels_for(tf.zeros((5, 1)), tf.zeros((5, 9))).shape
    TensorShape([5])
    """
    words = y_pred.shape[-1]
    if words is not None and words > 2**24:
        checks.fail("y_pred", "logits of at most 2**24 words, as labels come as float32", words)
    if y_true.shape.rank == y_pred.shape.rank and y_true.shape[-1] == 1:
        y_true = tf.squeeze(y_true, axis=-1)
    if not y_true.shape.is_compatible_with(y_pred.shape[:-1]):
        shape = tuple(y_true.shape)
        checks.fail("y_true", f"labels of the logits' shape, {tuple(y_pred.shape[:-1])}", shape)
    return y_true
