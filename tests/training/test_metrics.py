"""Perplexity: of all tokens, not of batches."""

import keras
import numpy as np
import pytest

from kerascompact.training import Perplexity


def example(tokens=(4, 3), words=7, seed=0):
    random = np.random.default_rng(seed)
    logits = 2 * random.normal(size=(*tokens, words)).astype("float32")
    return random.integers(0, words, tokens), logits


def by_formula(labels, logits, weights=None):
    """The weighted geometric mean of 1 / p, in float64."""
    probabilities = np.exp(logits.astype(float))
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    chosen = np.take_along_axis(probabilities, labels[..., None], axis=-1)[..., 0]
    weights = np.ones(labels.shape) if weights is None else np.broadcast_to(weights, labels.shape)
    return np.prod(chosen**-weights) ** (1 / weights.sum())


@pytest.mark.parametrize("jit_compile", [True, False])
def test_counts_tokens_over_batches_of_different_sizes(jit_compile):
    metric, batches = Perplexity(jit_compile), [example((4, 3)), example((1, 2), seed=1)]
    for batch in batches:
        metric.update_state(*batch)
    flat = [
        np.concatenate([part.reshape(-1, *tail) for part in parts])
        for parts, tail in zip(zip(*batches, strict=True), ((), (7,)), strict=True)
    ]
    np.testing.assert_allclose(metric.result(), by_formula(*flat), rtol=1e-6)
    metric.reset_state()
    metric.update_state(*batches[1])
    np.testing.assert_allclose(metric.result(), by_formula(*batches[1]), rtol=1e-6)


@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (4,), (4, 3, 1)])
def test_weights(shape):
    labels, logits = example()
    weights = np.random.default_rng(1).uniform(size=shape)
    metric = Perplexity()
    metric.update_state(labels, logits, weights)
    expected = by_formula(labels, logits, weights.reshape(4, -1))
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)


def test_a_token_of_weight_zero_may_have_any_label():
    labels, logits = example()
    weights = np.ones((4, 3))
    expected = by_formula(labels[1:], logits[1:])
    labels[0], weights[0] = -1, 0
    metric = Perplexity()
    metric.update_state(labels, logits, weights)
    np.testing.assert_allclose(metric.result(), expected, rtol=1e-6)


def test_counts_on_where_float32_would_stand_still():
    metric = Perplexity()
    metric.count.assign(2**24)
    for _ in range(3):
        metric.update_state(np.array([0]), np.zeros((1, 2), "float32"))
    assert float(metric.count) == 2**24 + 3


@pytest.mark.parametrize("jit_compile", [pytest.param(True, marks=pytest.mark.slow), False])
def test_in_fit_and_evaluate(jit_compile):
    model = keras.Sequential([keras.Input((3,), dtype="int32"), keras.layers.Embedding(7, 7)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", loss, metrics=[Perplexity()], jit_compile=jit_compile)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    ids = np.arange(15).reshape(5, 3) % 7
    history = model.fit(ids, ids, batch_size=2, verbose=0).history
    np.testing.assert_allclose(history["perplexity"], np.exp(history["loss"]), rtol=1e-5)
    found = model.evaluate(ids, ids, batch_size=2, verbose=0, return_dict=True)
    np.testing.assert_allclose(found["perplexity"], by_formula(ids, model(ids).numpy()), rtol=1e-5)


def test_of_nothing_and_from_its_config():
    assert float(Perplexity().result()) == 1.0
    copy = Perplexity.from_config(Perplexity(jit_compile=False, name="ppl").get_config())
    assert (copy.jit_compile, copy.name) == (False, "ppl")
