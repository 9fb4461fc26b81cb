"""fastText's classifier in NumPy."""

import keras
import numpy as np
import pytest

from kerascompact.layers import ClusterEmbedding
from kerascompact.models import mean_classifier

IDS = np.array([[3, 5, 0, 0], [1, 1, 2, 7], [0, 0, 0, 0]])


def softmax(logits):
    powers = np.exp(logits.astype(np.float64))
    return powers / powers.sum(-1, keepdims=True)


@pytest.mark.parametrize("hidden", [None, 6])
def test_equals_the_formula(hidden):
    model = mean_classifier(keras.layers.Embedding(9, 4, mask_zero=True), 3, hidden_units=hidden)
    random = np.random.default_rng(0)
    weights = [random.normal(size=w.shape) for w in model.get_weights()]
    model.set_weights(weights)
    table, *dense = weights
    mean = np.stack([table[row[row > 0]].mean(0) if row.any() else np.zeros(4) for row in IDS])
    if hidden:
        mean = np.maximum(mean @ dense[0] + dense[1], 0)
    expected = softmax(mean @ dense[-2] + dense[-1])
    np.testing.assert_allclose(model.predict(IDS, verbose=0), expected, rtol=1e-4, atol=1e-6)


def test_takes_any_length_or_one():
    embedding = ClusterEmbedding(9, 4, 3)
    model = mean_classifier(embedding, 3)
    assert model.input_shape == (None, None) and model.get_layer(embedding.name) is embedding
    assert model.predict(IDS[:, :1], verbose=0).shape == (3, 3)
    assert mean_classifier(embedding, 3, sequence_length=4).input_shape == (None, 4)
    assert model.inputs[0].name == "ids" and model.output_names == ["probabilities"]


def test_probabilities_are_float32_under_mixed_precision():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = mean_classifier(ClusterEmbedding(9, 4, 3, mask_zero=True), 3)
    finally:
        keras.config.set_dtype_policy("float32")
    found = model.predict(IDS, verbose=0)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-6)


def test_dropout_acts_in_training_only():
    model = mean_classifier(keras.layers.Embedding(9, 4), 3, dropout=0.5)
    first, second = model(IDS, training=True), model(IDS, training=True)
    assert np.abs(first - second).max() > 1e-4
    np.testing.assert_array_equal(model(IDS), model(IDS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_classes": 1}, "`num_classes` must be an integer >= 2"),
        ({"num_classes": 2.0}, "`num_classes` must be an integer >= 2"),
        ({"hidden_units": 0}, "`hidden_units` must be an integer >= 1"),
        ({"dropout": 1.0}, r"`dropout` must be a number in \[0, 0.999\]\. Received: dropout=1.0"),
        ({"dropout": -0.5}, r"`dropout` must be a number in \[0, 0.999\]\."),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        mean_classifier(keras.layers.Embedding(9, 4), **{"num_classes": 3, **change})
