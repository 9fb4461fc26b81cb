"""The paper's tagger in NumPy, padding skipped, and in a file, token by token."""

import keras
import numpy as np
import pytest

from kerascompact import export, tools
from kerascompact.export.recipe import TABLE_RECIPES
from kerascompact.layers import PredefinedSparseEmbedding
from kerascompact.models import tagger

IDS = np.array([[3, 5, 0, 0], [1, 1, 2, 7], [4, 0, 0, 0]], np.int32)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def outputs(words, kernel, recurrent, bias):
    """Of an LSTM; gates in Keras' order: input, forget, cell, output."""
    state, cell, found = np.zeros(len(recurrent)), np.zeros(len(recurrent)), []
    for word in words:
        i, f, g, o = np.split(word @ kernel + state @ recurrent + bias, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
        found.append(state)
    return np.array(found)


def with_random_weights(model):
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    return model


def test_equals_the_formula():
    embedding = keras.layers.Embedding(9, 4, mask_zero=True)
    model = with_random_weights(tagger(embedding, 3, units=5, hidden=6))
    table, *lstms, dense, offset, softmax, bias = [w.numpy() for w in model.trainable_weights]
    found = model(IDS).numpy()
    for row, probabilities in zip(IDS, found, strict=True):
        words = table[row[row > 0]]
        forward, backward = outputs(words, *lstms[:3]), outputs(words[::-1], *lstms[3:])[::-1]
        states = np.tanh(np.hstack([forward, backward]) @ dense + offset)
        powers = np.exp(states @ softmax + bias)
        expected = powers / powers.sum(-1, keepdims=True)
        # float32 roundings of four steps
        np.testing.assert_allclose(probabilities[: len(words)], expected, rtol=1e-4, atol=1e-6)


def test_the_papers_parameters():
    """880k in all, 876k of them in the embedding: the rest is that of 10 + 10, 10 and 49."""
    model = tagger(keras.layers.Embedding(43_815, 20), 49)
    both = 2 * 4 * 10 * (20 + 10 + 1)  # PyTorch has one bias more: 80 numbers
    assert model.count_params() == 43_815 * 20 + both + 10 * (20 + 1) + 49 * (10 + 1)
    assert round(model.count_params() / 1000) in (879, 880)


@pytest.mark.slow  # a short test of the runtime compares a file with Keras
@pytest.mark.parametrize("recipe", TABLE_RECIPES)
def test_the_file_gives_every_token_the_tag_that_keras_gives(recipe):
    embedding = PredefinedSparseEmbedding(30, 6, 0.4, mask_zero=True)
    model = with_random_weights(tagger(embedding, 5))
    frozen = export.freeze(model, recipe)
    found = tools.inspect(frozen.convert())
    assert not found.custom
    random = np.random.default_rng(1)
    for length in (1, 9):
        ids = random.integers(1, 30, (20, length)).astype(np.int32)
        ids[: len(ids) // 2, length // 2 + 1 :] = 0
        # nine steps there and back, in float32
        report = frozen.verify(ids, tolerance=1e-5)
        assert report.agreement == 1.0 and report.outputs.shape == (20, length, 5)


def test_takes_another_recurrent_layer():
    gru = keras.layers.GRU(3, return_sequences=True)
    model = tagger(keras.layers.Embedding(9, 4), 3, recurrent=gru, sequence_length=4)
    assert model(IDS).shape == (3, 4, 3)
    assert model.get_layer("both_ways").output.shape[-1] == 6
    assert model.get_layer("probabilities").dtype == "float32"
    with pytest.raises(ValueError, match="`recurrent` must be a recurrent layer with return_seq"):
        tagger(keras.layers.Embedding(9, 4), 3, recurrent=keras.layers.LSTM(3))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_tags": 1}, "`num_tags` must be an integer >= 2"),
        ({"units": 0}, "`units` must be an integer >= 1"),
        ({"hidden": True}, "`hidden` must be an integer >= 1"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        tagger(keras.layers.Embedding(9, 4), **{"num_tags": 3, **change})
