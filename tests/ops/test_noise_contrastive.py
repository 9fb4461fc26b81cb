"""Noise-contrastive estimation: the formula word by word, and where its minimum is."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.word_scorer import Scorer
from kerascompact.ops.noise_contrastive import noise_contrastive_loss
from kerascompact.ops.sampled_softmax import Candidates, log_uniform_candidates

V, D = 12, 4


def zipf(words):
    """By its definition, in float64."""
    ranks = np.arange(words)
    return np.log((ranks + 2) / (ranks + 1)) / np.log(words + 1)


def of_text(logit, expected):
    """The probability that a word is from the text, by Bayes' rule."""
    return np.exp(logit) / (np.exp(logit) + expected)


def test_equals_the_formula():
    random = np.random.default_rng(0)
    hidden, table = random.normal(size=(3, D)), random.normal(size=(V, D))
    bias, labels = random.normal(size=V), np.array([0, 5, 11])
    ids, log_z = np.array([3, 5, 5, 11, 1, 3]), 1.7  # with hits of labels, and drawn twice
    expected = len(ids) * zipf(V)
    wanted = []
    for h, y in zip(hidden, labels, strict=True):
        logits = table @ h + bias - log_z
        loss = -np.log(of_text(logits[y], expected[y]))
        wanted.append(loss - sum(np.log(1 - of_text(logits[v], expected[v])) for v in ids))
    scorer = Scorer(
        tf.constant(hidden[None], tf.float32),
        lambda ids: tf.gather(tf.constant(table, tf.float32), ids),
        lambda ids: tf.gather(tf.constant(bias, tf.float32), ids),
    )
    draws = Candidates(tf.constant(ids, tf.int32), tf.constant(np.log(expected[ids]), tf.float32))
    found = noise_contrastive_loss(tf.constant(labels[None], tf.int32), scorer, draws, V, log_z)
    np.testing.assert_allclose(found, [wanted], rtol=1e-5)  # float32


@pytest.mark.slow
def test_its_minimum_is_the_distribution_of_the_text_normalized():
    """Mean gradients over many draws of text and noise: zero at `log p`, and nowhere near it."""
    random = np.random.default_rng(1)
    shares = random.dirichlet(np.ones(V))
    generator = keras.random.SeedGenerator(3)

    @tf.function(autograph=False)
    def gradient(logits, labels):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            scorer = Scorer(tf.ones((200, 1)), lambda ids: tf.gather(logits[:, None], ids))
            draws = log_uniform_candidates(6, V, generator)
            loss = noise_contrastive_loss(labels, scorer, draws, V, 2.0)
        return tf.convert_to_tensor(tape.gradient(loss, logits)) / 200

    def means(logits):
        logits = tf.constant(logits, tf.float32)
        texts = random.choice(V, (2000, 200), p=shares).astype(np.int32)
        samples = [gradient(logits, text) for text in texts]
        samples = np.array(samples, float)
        return samples.mean(axis=0), samples.std(axis=0, ddof=1) / 2000**0.5

    mean, error = means(np.log(shares) + 2.0)
    assert np.all(np.abs(mean) <= 5 * error + 1e-6)  # standard errors
    mean, error = means(np.log(shares) + 1.0)  # not normalized
    assert np.all(mean < -5 * error)


def test_huge_logits_stay_finite_and_gradients_of_a_table_are_rows():
    table = tf.Variable(tf.fill((V, D), 40.0))
    hidden = tf.constant([[25.0] * D, [-25.0] * D])
    with tf.GradientTape() as tape:
        draws = log_uniform_candidates(6, V, seed=1)
        scorer = Scorer(hidden, lambda ids: tf.gather(table, ids))
        losses = noise_contrastive_loss(tf.constant([1, 2]), scorer, draws, V)
    gradient = tape.gradient(losses, table)
    assert isinstance(gradient, tf.IndexedSlices) and gradient.values.shape == (6 + 2, D)
    assert np.isfinite(losses).all() and np.isfinite(gradient.values).all()
