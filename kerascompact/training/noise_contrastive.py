"""Noise-contrastive estimation as a loss for language models."""

from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.word_scorer import Scorer
from kerascompact.ops.noise_contrastive import noise_contrastive_loss
from kerascompact.ops.sampled_softmax import Candidates
from kerascompact.training.losses import SampledSoftmaxCrossEntropy


@register
class NoiseContrastiveEstimation(SampledSoftmaxCrossEntropy):
    """Tells words of the text from noise in training; cross entropy over all words in evaluation.

    `l = -log sigma(x_y - c - log(S p(y))) - sum_k log sigma(log(S p(v_k)) - x_{v_k} + c)` with `S`
    words `v_k` drawn anew in each step by Zipf's law `p`, the same for the whole batch. Its minimum
    over all functions `x` is where `exp(x_v - c)` is the probability of word `v`: the model learns
    to be normalized, and needs no sum over words.

    It takes the place of `SampledSoftmaxCrossEntropy`, with the same heads: `layers.WordLogits`, or
    an embedding called with `reverse=True`, as the last layer of the model. What is said there of
    other logits (which are refused), metrics and evaluation holds here. Its values are no cross
    entropies: compare `val_loss`, which is one.

    Args:
        num_sampled: Number of noise words `S` drawn in a step, with replacement.
        log_normalizer: `c`, the constant in the place of `log sum_v exp(x_v)`. 0 as in the paper
            asks for logits of about `-log V`, which a bias learns in some steps; `log V` starts at
            even probabilities.
        seed: Seed of the draws.
        name: Name of the loss.
        **kwargs: Arguments of `SparseSoftmaxCrossEntropy`; `jit_compile` applies to the full loss.

    Shapes: labels `(...)` or `(..., 1)`, in `[0, V)`, ids ordered by frequency, the most frequent
        first; logits `(..., V)`. A label out of range gives NaN under XLA, and an error without.
    Raises: ValueError, if `num_sampled` is no integer above 0, `log_normalizer` no number, or the
        logits come from elsewhere.
    Example:
    >>> from kerascompact.layers import WordLogits
    >>> model = keras.Sequential([keras.layers.Embedding(99, 4), WordLogits(99)])
    >>> model.compile("sgd", NoiseContrastiveEstimation(num_sampled=8, log_normalizer=np.log(99)))
    >>> history = model.fit(np.array([[1, 2]]), np.array([[2, 3]]), verbose=0)

    Reference: [Gutmann & Hyvarinen, AISTATS 2010](https://proceedings.mlr.press/v9/gutmann10a.html),
    sec. 2; for language models [Mnih & Teh, ICML 2012](https://arxiv.org/abs/1206.6426), sec. 3.
    Differs: one draw of noise for a batch, by Zipf's law instead of the words' own frequencies; the
    constant `c`, which they learn (2010) or set to 0 (2012).
    """

    def __init__(
        self,
        num_sampled: int,
        log_normalizer: float = 0.0,
        seed: int | None = None,
        name: str = "noise_contrastive_estimation",
        **kwargs: Any,
    ) -> None:
        super().__init__(num_sampled, seed=seed, name=name, **kwargs)
        self.log_normalizer = float(checks.number("log_normalizer", log_normalizer))

    def loss_of_sample(
        self, labels: tf.Tensor, scorer: Scorer, candidates: Candidates, num_words: int
    ) -> tf.Tensor:
        return noise_contrastive_loss(labels, scorer, candidates, num_words, self.log_normalizer)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "log_normalizer": self.log_normalizer}
