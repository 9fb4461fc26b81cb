"""Sampled softmax: draws follow Zipf's law, the loss its formula and, on average, the full one."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.word_scorer import Scorer, attach_scorer, has_scorer, scorer_of
from kerascompact.ops.sampled_softmax import (
    Candidates,
    log_uniform_candidates,
    sampled_cross_entropy,
    sampled_loss,
    zipf_probability,
)

V, D, N = 30, 4, 3


def zipf(words):
    """By its definition, in float64."""
    ranks = np.arange(words)
    return np.log((ranks + 2) / (ranks + 1)) / np.log(words + 1)


@pytest.mark.parametrize("words", [1, 2, 30, 268_000])
def test_draws_follow_zipfs_law(words):
    draws = 200_000
    found = log_uniform_candidates(draws, words, seed=7)
    ids, expected = found.ids.numpy(), zipf(words)
    assert ids.min() >= 0 and ids.max() < words
    np.testing.assert_allclose(found.log_expected, np.log(draws * expected[ids]), atol=1e-5)
    # Counts of the head and of all the rest, each within 5 standard deviations of a binomial.
    head = min(words - 1, 20)
    counts = np.append(np.bincount(ids, minlength=words)[:head], np.sum(ids >= head))
    shares = np.append(expected[:head], expected[head:].sum())
    deviation = np.sqrt(draws * shares * (1 - shares))
    assert np.all(np.abs(counts - draws * shares) <= 5 * deviation + 1e-6)


def test_every_word_of_a_large_vocabulary_can_be_drawn():
    ids = log_uniform_candidates(1_000_000, 10_000_000, seed=1).ids.numpy()
    tail = ids[ids > 5_000_000]
    assert len(tail) > 30_000 and np.unique(tail).size > 0.99 * tail.size  # no steps in the tail
    assert tail.max() > 9_990_000


def test_seeds():
    one, same, other = (log_uniform_candidates(50, V, seed).ids.numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.any(one != other)
    generator = keras.random.SeedGenerator(3)
    first, second = (log_uniform_candidates(50, V, generator).ids.numpy() for _ in range(2))
    assert np.any(first != second)
    compiled = tf.function(
        lambda: log_uniform_candidates(50, V, 1).ids, jit_compile=True, autograph=False
    )
    np.testing.assert_array_equal(compiled(), one)


def test_probabilities_sum_to_one():
    np.testing.assert_allclose(zipf_probability(tf.range(V), V), zipf(V), rtol=1e-5)
    assert abs(float(tf.reduce_sum(zipf_probability(tf.range(10_000), 10_000))) - 1) < 1e-5


def example():
    random = np.random.default_rng(0)
    return {
        "hidden": random.normal(size=(N, D)).astype("float32"),
        "table": random.normal(size=(V, D)).astype("float32"),
        "bias": random.normal(size=V).astype("float32"),
        "labels": np.array([0, 5, 29]),
    }


def by_formula(hidden, table, bias, labels, ids, expected):
    """Word by word, in float64."""
    losses = []
    for h, y in zip(hidden.astype(float), labels, strict=True):
        total = np.exp(h @ table[y] + bias[y])
        for v, times in zip(ids, expected, strict=True):
            if v != y:
                total += np.exp(h @ table[v] + bias[v]) / times
        losses.append(np.log(total) - h @ table[y] - bias[y])
    return losses


def test_equals_the_formula():
    numbers = example()
    ids = np.array([3, 5, 5, 29, 1, 3])  # with hits of two labels, and words drawn twice
    expected = np.random.default_rng(1).uniform(0.1, 3, len(ids))
    candidates = Candidates(tf.constant(ids, tf.int32), tf.constant(np.log(expected), tf.float32))
    scorer = Scorer(
        tf.constant(numbers["hidden"]),
        lambda ids: tf.gather(numbers["table"], ids),
        lambda ids: tf.gather(numbers["bias"], ids),
    )
    found = sampled_loss(tf.constant(numbers["labels"], tf.int32), scorer, candidates)
    np.testing.assert_allclose(found, by_formula(**numbers, ids=ids, expected=expected), atol=1e-5)
    shaped = Scorer(tf.reshape(scorer.hidden, (1, N, D)), *scorer[1:])
    again = sampled_loss(tf.constant(numbers["labels"][None], tf.int32), shaped, candidates)
    np.testing.assert_allclose(again, found[None], atol=1e-6)


def full(hidden, table, bias, labels):
    """Loss and its gradients by hidden vectors and table, over all words, in float64."""
    logits = hidden.astype(float) @ table.T.astype(float) + bias
    exponentials = np.exp(logits)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    errors = probabilities - np.eye(V)[labels]
    losses = -np.log(probabilities[np.arange(N), labels])
    return losses, exponentials.sum(axis=1), errors @ table, errors.T @ hidden


def many(count, draws):
    """Losses and gradients of many draws."""
    numbers = {key: tf.constant(value) for key, value in example().items()}
    labels = tf.cast(numbers["labels"], tf.int32)

    @tf.function(autograph=False)
    def once(seed):
        with tf.GradientTape() as tape:
            tape.watch([numbers["hidden"], numbers["table"]])
            scorer = Scorer(
                numbers["hidden"],
                lambda ids: tf.gather(numbers["table"], ids),
                lambda ids: tf.gather(numbers["bias"], ids),
            )
            generated = log_uniform_candidates(count, V, seed)
            losses = sampled_loss(labels, scorer, generated)
        gradients = tape.gradient(losses, [numbers["hidden"], numbers["table"]])
        return losses, *map(tf.convert_to_tensor, gradients)

    generator = keras.random.SeedGenerator(1)
    found = zip(*(once(generator) for _ in range(draws)), strict=True)
    return [np.stack(values).astype(float) for values in found]


def within(samples, expected, bias=0.0):
    """Whether a mean is what is expected, to 5 of its standard errors."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    return np.all(np.abs(samples.mean(axis=0) - expected) <= 5 * error + bias + 1e-6)


def test_the_estimate_of_the_sum_over_all_words_has_no_bias():
    numbers = example()
    expected = full(**numbers)
    losses = many(5, 200)[0]
    label_logits = np.sum(numbers["hidden"] * numbers["table"][numbers["labels"]], axis=1)
    label_logits = label_logits + numbers["bias"][numbers["labels"]]
    assert within(np.exp(losses + label_logits), expected[1])


@pytest.mark.slow  # the formula is above, and that its sum has no bias
def test_loss_and_gradients_tend_to_those_of_the_full_softmax():
    expected = full(**example())
    off = []
    for count in (5, 400):
        losses, by_hidden, by_table = many(count, 300)
        off.append(np.abs(losses.mean(axis=0) - expected[0]).max())
        assert np.all(losses.mean(axis=0) < expected[0] + 5 * losses.std(axis=0) / np.sqrt(300))
    # What is left of the bias falls with the number of draws; for 400 it is below 0.01.
    assert off[1] < 0.01 < off[0]
    assert within(losses, expected[0], bias=0.01)
    assert within(by_hidden, expected[2], bias=0.01)
    assert within(by_table, expected[3], bias=0.01)


def test_gradients_of_a_table_are_rows():
    numbers = example()
    table = tf.Variable(numbers["table"])
    with tf.GradientTape() as tape:
        scorer = Scorer(tf.constant(numbers["hidden"]), lambda ids: tf.gather(table, ids))
        draws = log_uniform_candidates(6, V, seed=1)
        losses = sampled_loss(tf.constant(numbers["labels"], tf.int32), scorer, draws)
    gradient = tape.gradient(losses, table)
    assert isinstance(gradient, tf.IndexedSlices) and gradient.values.shape == (6 + N, D)


def test_labels_that_are_all_drawn_leave_the_loss_finite():
    logits = tf.constant([[2.0, 2.0]])
    draws = Candidates(tf.constant([4, 4]), tf.zeros(2))
    loss = sampled_cross_entropy(tf.constant([4]), logits[:, 0], logits, draws)
    np.testing.assert_allclose(loss, [0.0], atol=1e-6)  # no other word is in the sum


def test_logits_carry_their_scorer():
    logits, scorer = tf.zeros((2, 3)), Scorer(tf.zeros((2, 1)), tf.identity)
    with pytest.raises(ValueError, match=r"`y_pred` must be logits as .* the shape \(2, 3\)\."):
        scorer_of(logits)
    assert not has_scorer(logits) and scorer_of(attach_scorer(logits, None)) is None
    assert scorer_of(attach_scorer(logits, scorer)) is scorer
    assert has_scorer(logits) and not has_scorer(tf.identity(logits))
