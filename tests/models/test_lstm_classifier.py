"""The paper's classifier in NumPy, padding skipped."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.layers import ClusterEmbedding, MixtureEmbedding
from kerascompact.models import lstm_classifier

IDS = np.array([[3, 5, 0, 0], [1, 1, 2, 7], [0, 0, 0, 0], [4, 0, 0, 0]])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def last_state(words, kernel, recurrent, bias, units):
    """Gates in Keras' order: input, forget, cell, output."""
    state, cell = np.zeros(units), np.zeros(units)
    for word in words:
        i, f, g, o = np.split(word @ kernel + state @ recurrent + bias, 4)
        cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(g)
        state = sigmoid(o) * np.tanh(cell)
    return state


def test_equals_the_formula():
    model = lstm_classifier(keras.layers.Embedding(9, 4, mask_zero=True), 3, units=5)
    random = np.random.default_rng(0)
    weights = [random.normal(size=w.shape) for w in model.get_weights()]
    model.set_weights(weights)
    table, kernel, recurrent, bias, dense, offset = weights
    states = [last_state(table[row[row > 0]], kernel, recurrent, bias, 5) for row in IDS]
    expected = softmax(np.stack(states) @ dense + offset)
    np.testing.assert_allclose(model(IDS), expected, rtol=1e-4, atol=1e-6)


def softmax(x):
    powers = np.exp(x)
    return powers / powers.sum(-1, keepdims=True)


def test_a_simple_rnn_equals_its_formula_in_its_file_as_well(tmp_path):
    """The paper's Table 5: two units, `h = tanh(x K + h R + b)`, padding skipped."""
    embedding = MixtureEmbedding(9, 3, 2, 4, num_reserved=2, mask_zero=True, name="embedding")
    model = lstm_classifier(embedding, 3, units=7, recurrent=keras.layers.SimpleRNN(2))
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(weight + random.normal(size=weight.shape))
    vectors, states = embedding(np.arange(9)[None])[0].numpy(), np.zeros((4, 2))
    kernel, recurrent, bias, dense, offset = model.get_weights()[-5:]
    for at in range(4):
        moved = np.tanh(vectors[IDS[:, at]] @ kernel + states @ recurrent + bias)
        states = np.where(IDS[:, at : at + 1] > 0, moved, states)
    expected = softmax(states @ dense + offset)
    np.testing.assert_allclose(model(IDS), expected, rtol=1e-4, atol=1e-6)
    model.save(tmp_path / "rnn.keras")
    again = keras.saving.load_model(tmp_path / "rnn.keras")
    np.testing.assert_allclose(again(IDS), expected, rtol=1e-4, atol=1e-6)
    file = export.convert(model, "float32", sequence_length=4)
    found = export.verify(model, file, IDS).outputs
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_recurrent_takes_either_direction_and_float16():
    embedding = ClusterEmbedding(9, 4, 3, mask_zero=True, dtype="mixed_float16")
    both = keras.layers.Bidirectional(keras.layers.GRU(3, dtype="mixed_float16"))
    model = lstm_classifier(embedding, 3, recurrent=both)
    assert model.get_layer("probabilities").input.shape == (None, 6)
    found = model(IDS)
    assert found.dtype == "float32"
    padded = np.pad(IDS, ((0, 0), (0, 3)))
    np.testing.assert_allclose(model(padded), found, atol=1e-3)  # float16


def test_takes_any_length_or_one():
    embedding = ClusterEmbedding(9, 4, 3)
    model = lstm_classifier(embedding, 3, units=5)
    assert model.input_shape == (None, None) and model.get_layer(embedding.name) is embedding
    assert model(IDS[:, :1]).shape == (4, 3)
    assert lstm_classifier(embedding, 3, sequence_length=4).input_shape == (None, 4)
    assert model.inputs[0].name == "ids" and model.output_names == ["probabilities"]
    assert model.get_layer("lstm").units == 5
    assert lstm_classifier(embedding, 3).get_layer("lstm").units == 50  # the paper's


def test_dropout_acts_in_training_only():
    model = lstm_classifier(keras.layers.Embedding(9, 4), 3, units=5, dropout=0.5)
    first, second = model(IDS, training=True), model(IDS, training=True)
    assert np.abs(first - second).max() > 1e-5
    np.testing.assert_array_equal(model(IDS), model(IDS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_classes": 1}, "`num_classes` must be an integer >= 2"),
        ({"num_classes": True}, "`num_classes` must be an integer >= 2"),
        ({"units": 0}, "`units` must be an integer >= 1"),
        ({"dropout": 1.0}, r"`dropout` must be a number in \[0, 0.999\]\. Received: dropout=1.0"),
        ({"dropout": "0.5"}, r"`dropout` must be a number in \[0, 0.999\]\."),
        (
            {"recurrent": keras.layers.GRU(4, return_sequences=True)},
            "`recurrent` must be a recurrent layer with return_sequences=False. Received: recurr",
        ),
        ({"recurrent": keras.layers.Dense(4)}, "`recurrent` must be a recurrent layer with return"),
        ({"recurrent": 50}, "`recurrent` must be a recurrent layer with return_sequences=False"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        lstm_classifier(keras.layers.Embedding(9, 4), **{"num_classes": 3, **change})
