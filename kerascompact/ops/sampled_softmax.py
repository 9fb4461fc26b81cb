"""Softmax cross entropy over a sample of a large vocabulary."""

import math
from typing import NamedTuple

import keras
import tensorflow as tf

from kerascompact.core.word_scorer import Scorer
from kerascompact.ops.random_bits import random_bits


class Candidates(NamedTuple):
    """Sampled ids `(S,)` int32, and the logarithms of how often each is expected, `(S,)`."""

    ids: tf.Tensor
    log_expected: tf.Tensor


def log_uniform_candidates(
    count: int, num_words: int, seed: keras.random.SeedGenerator | int
) -> Candidates:
    """Draws ids by Zipf's law, with replacement.

    `p(v) = log((v + 2) / (v + 1)) / log(V + 1)`: ids must be ordered by frequency, the most
    frequent first. By the inverse of its distribution function, `v = floor((V + 1)^u) - 1`, since
    TensorFlow's sampler has no XLA kernel; in float64, for which every id of a vocabulary of
    millions can be drawn.

    Args:
        count: Number of draws `S`.
        num_words: Number of ids `V` to draw from.
        seed: An integer (the same draws at each call) or a `keras.random.SeedGenerator`.

    Returns: The ids, and `log(S p(v))` of each.

    >>> log_uniform_candidates(3, 10_000, seed=1).ids.shape
    TensorShape([3])
    """
    uniform = (tf.cast(random_bits((count,), seed), tf.float64) + 0.5) * 2.0**-32
    ids = tf.cast(tf.exp(uniform * math.log(num_words + 1)), tf.int32) - 1
    ids = tf.clip_by_value(ids, 0, num_words - 1)  # exp may be off by a rounding
    return Candidates(ids, tf.math.log(count * zipf_probability(ids, num_words)))


def zipf_probability(ids: tf.Tensor, num_words: int) -> tf.Tensor:
    """`p(v) = log(1 + 1 / (v + 1)) / log(V + 1)` as float32.

    >>> float(tf.reduce_sum(zipf_probability(tf.range(50), 50)).numpy().round(5))
    1.0
    """
    return tf.math.log1p(1.0 / (tf.cast(ids, tf.float32) + 1.0)) / math.log(num_words + 1)


def sampled_cross_entropy(
    labels: tf.Tensor,
    label_logits: tf.Tensor,
    candidate_logits: tf.Tensor,
    candidates: Candidates,
) -> tf.Tensor:
    """Estimate of the softmax cross entropy over all words.

    `l = log(exp(x_y) + sum_k [v_k != y] exp(x_{v_k} - log(S p(v_k)))) - x_y`. What is inside the
    logarithm is an unbiased estimate of `sum_v exp(x_v)`: the label itself counts once, and a draw
    that hits it does not. So the loss tends to that of the full softmax, from below, as `S` grows,
    and its gradient to the full gradient.

    Args:
        labels: Labels `y` `(n,)`, int32.
        label_logits: Logits of the labels, `x_y` `(n,)`, float32.
        candidate_logits: Logits of the candidates, `x_{v_k}` `(n, S)`, float32.
        candidates: Words drawn by `log_uniform_candidates`.

    Returns: `(n,)` float32.

    >>> draws = Candidates(tf.constant([0, 1]), tf.math.log([1.0, 1.0]))  # all, once each
    >>> x = tf.math.log([[0.25, 0.75]])
    >>> loss = sampled_cross_entropy(tf.constant([1]), x[:, 1], x, draws)
    >>> tf.exp(-loss).numpy().round(6).tolist()
    [0.75]

    Reference: [Jean et al., ACL 2015](https://arxiv.org/abs/1412.2007), sec. 3.1, eq. 9;
    [Bengio & Senecal, AISTATS 2003](https://proceedings.mlr.press/r4/bengio03a.html).
    Differs: the label has weight 1, as it is always there, and is not divided by its own expected
    count as in `tf.nn.sampled_softmax_loss`, whose value is not near the full loss.
    """
    corrected = candidate_logits - candidates.log_expected
    hits = candidates.ids == tf.expand_dims(labels, -1)
    corrected = tf.where(hits, -math.inf, corrected)
    all_logits = tf.concat([tf.expand_dims(label_logits, -1), corrected], axis=-1)
    return tf.reduce_logsumexp(all_logits, axis=-1) - label_logits


def sampled_logits(
    labels: tf.Tensor, scorer: Scorer, candidates: Candidates
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Labels, one below the other `(n,)`, their logits `(n,)` and those of candidates `(n, S)`.

    Labels and candidates are looked up at once, so that the gradient of a table is rows.

    >>> scorer = Scorer(tf.ones((5, 2)), lambda ids: tf.gather(tf.ones((9, 2)), ids))
    >>> draws = log_uniform_candidates(4, 9, seed=1)
    >>> [part.shape.as_list() for part in sampled_logits(tf.zeros(5, tf.int32), scorer, draws)]
    [[5], [5], [5, 4]]
    """
    flat = tf.reshape(scorer.hidden, [-1, scorer.hidden.shape[-1]])
    flat_labels = tf.reshape(labels, [-1])
    count = tf.size(candidates.ids)
    ids = tf.concat([candidates.ids, flat_labels], axis=0)
    rows = scorer.rows(ids)
    of_candidates = tf.matmul(flat, rows[:count], transpose_b=True)
    of_labels = tf.reduce_sum(flat * rows[count:], axis=-1)
    if scorer.bias is not None:
        biases = scorer.bias(ids)
        of_candidates, of_labels = of_candidates + biases[:count], of_labels + biases[count:]
    return flat_labels, of_labels, of_candidates


def sampled_loss(labels: tf.Tensor, scorer: Scorer, candidates: Candidates) -> tf.Tensor:
    """`sampled_cross_entropy` of labels `(...)`, from the vectors of the words that it needs only.

    >>> scorer = Scorer(tf.ones((5, 2)), lambda ids: tf.gather(tf.ones((9, 2)), ids))
    >>> draws = log_uniform_candidates(4, 9, seed=1)
    >>> sampled_loss(tf.constant([0, 1, 2, 3, 8]), scorer, draws).shape
    TensorShape([5])
    """
    flat_labels, of_labels, of_candidates = sampled_logits(labels, scorer, candidates)
    losses = sampled_cross_entropy(flat_labels, of_labels, of_candidates, candidates)
    return tf.reshape(losses, tf.shape(labels))
