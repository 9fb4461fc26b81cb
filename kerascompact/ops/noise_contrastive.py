"""Loss of noise-contrastive estimation."""

import tensorflow as tf

from kerascompact.core.word_scorer import Scorer
from kerascompact.ops.sampled_softmax import Candidates, sampled_logits, zipf_probability


def noise_contrastive_terms(
    label_logits: tf.Tensor,
    label_log_expected: tf.Tensor,
    candidate_logits: tf.Tensor,
    candidates: Candidates,
) -> tf.Tensor:
    """Logistic loss of one word of the text against `S` words of noise.

    `l = -log sigma(x_y - log(S p(y))) - sum_k log sigma(log(S p(v_k)) - x_{v_k})`: `exp(x_v)` is
    taken as the probability of word `v`, without a sum over words. Noise that equals the label
    counts as noise.

    Args:
        label_logits: Logits of the labels, `x_y` `(n,)`, float32.
        label_log_expected: Logarithm of their expected counts, `log(S p(y))` `(n,)`.
        candidate_logits: Logits of the candidates, `x_{v_k}` `(n, S)`, float32.
        candidates: Words drawn by `log_uniform_candidates`.

    Returns: `(n,)` float32.

    >>> draws = Candidates(tf.constant([0]), tf.math.log([0.5]))  # S p(v) = 1/2 for both words
    >>> even = tf.math.log([0.5])  # text and noise agree: two fair coins
    >>> loss = noise_contrastive_terms(even, even, even[None], draws)
    >>> tf.exp(-loss).numpy().round(6).tolist()
    [0.25]

    Reference: [Gutmann & Hyvarinen, AISTATS 2010](https://proceedings.mlr.press/v9/gutmann10a.html),
    sec. 2; [Mnih & Teh, ICML 2012](https://arxiv.org/abs/1206.6426), sec. 3.
    """
    of_label = tf.nn.softplus(label_log_expected - label_logits)
    of_noise = tf.nn.softplus(candidate_logits - candidates.log_expected)
    return of_label + tf.reduce_sum(of_noise, axis=-1)


def noise_contrastive_loss(
    labels: tf.Tensor,
    scorer: Scorer,
    candidates: Candidates,
    num_words: int,
    log_normalizer: float = 0.0,
) -> tf.Tensor:
    """`noise_contrastive_terms` of labels `(...)`, from the vectors of the words that it needs.

    `log_normalizer` is subtracted from every logit: the model's `log Z`, taken as a constant.

    >>> from kerascompact.ops.sampled_softmax import log_uniform_candidates
    >>> scorer = Scorer(tf.ones((5, 2)), lambda ids: tf.gather(tf.ones((9, 2)), ids))
    >>> draws = log_uniform_candidates(4, 9, seed=1)
    >>> noise_contrastive_loss(tf.constant([0, 1, 2, 3, 8]), scorer, draws, 9).shape
    TensorShape([5])
    """
    flat_labels, of_labels, of_candidates = sampled_logits(labels, scorer, candidates)
    count = tf.cast(tf.size(candidates.ids), tf.float32)
    expected = tf.math.log(count * zipf_probability(flat_labels, num_words))
    losses = noise_contrastive_terms(
        of_labels - log_normalizer, expected, of_candidates - log_normalizer, candidates
    )
    return tf.reshape(losses, tf.shape(labels))
