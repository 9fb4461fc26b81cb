"""Kim's classifier: its layers, its file, and what padding must not do."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.layers import ClusterEmbedding
from kerascompact.models import text_cnn

IDS = np.array([[3, 5, 1, 2, 4, 7, 8, 1], [1, 1, 2, 7, 0, 0, 0, 0], [4] + [0] * 7, [0] * 8])


def randomized(model):
    random = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(random.normal(size=weight.shape))
    return model


def table(**config):
    return keras.layers.Embedding(9, 6, mask_zero=True, name="embedding", **config)


def test_defaults_are_those_of_table_5():
    model = text_cnn(keras.layers.Embedding(50, 256), 4)
    sizes = [model.get_layer(f"filters_{h}").kernel.shape for h in (3, 4, 5)]
    assert sizes == [(3, 256, 100), (4, 256, 100), (5, 256, 100)]
    assert model.get_layer("dropout").rate == 0.5
    assert model.get_layer("probabilities").kernel.shape == (300, 4)
    assert model.input_shape == (None, None) and model.output_names == ["probabilities"]
    assert text_cnn(table(), 3, sequence_length=7).input_shape == (None, 7)


def test_is_a_softmax_of_the_maxima():
    model = randomized(text_cnn(table(), 3, num_filters=4, filter_sizes=(2, 3)))
    vectors, mask = model.get_layer("embedding")(IDS), IDS != 0
    found = [model.get_layer(f"filters_{h}")(vectors, mask=mask).numpy() for h in (2, 3)]
    dense, offset = model.get_layer("probabilities").get_weights()
    logits = np.concatenate(found, axis=1) @ dense + offset
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model(IDS), expected, rtol=1e-4, atol=1e-6)


def test_padding_changes_no_prediction():
    model = randomized(text_cnn(table(), 3, num_filters=8))
    expected = model(np.pad(IDS, [(0, 0), (0, 20)]))
    # another length, another order of sums
    np.testing.assert_allclose(model(IDS), expected, rtol=1e-4, atol=1e-6)
    one = model(IDS[2:3, :1])  # a text of one word, without padding
    np.testing.assert_allclose(one, expected[2:3], rtol=1e-4, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "recipe", "length"),
    [
        ("standard", "float32", None),
        ("standard", "int8_tables", 8),
        ("cluster", "float32", 8),
        ("cluster", "int8_tables", None),
    ],
)
def test_the_file_predicts_what_keras_does(kind, recipe, length):
    if kind == "standard":
        embedding = table()
    else:
        embedding = ClusterEmbedding(9, 6, 4, mask_zero=True, name="embedding")
    model = randomized(text_cnn(embedding, 3, num_filters=8))
    ids = np.random.default_rng(1).integers(1, 9, (40, 8)) * (
        np.arange(8) < np.arange(40)[:, None] % 9
    )
    file = export.convert(model, recipe, sequence_length=length)
    report = export.verify(model, file, ids)
    assert report.agreement == 1 and report.examples == 40


@pytest.mark.slow
def test_learns_a_phrase():
    random = np.random.default_rng(0)
    ids = random.integers(3, 30, (256, 12))
    labels = np.arange(256) % 2
    place = random.integers(0, 9, 256)
    rows = np.arange(256)
    ids[rows, place], ids[rows, place + 1] = 1 + labels, 2 - labels  # "1 2" or "2 1"
    model = text_cnn(keras.layers.Embedding(30, 8, mask_zero=True), 2, num_filters=8, dropout=0.2)
    adam, loss = keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy"
    model.compile(adam, loss, metrics=["accuracy"], jit_compile=False)
    model.fit(ids, labels, epochs=12, batch_size=32, verbose=0)
    error, accuracy = model.evaluate(ids, labels, verbose=0)
    assert accuracy > 0.9
    model.compile(keras.optimizers.SGD(1e-3), loss, jit_compile=True)
    model.fit(ids, labels, batch_size=64, verbose=0)
    again = model.evaluate(ids, labels, verbose=0, return_dict=True)
    assert again["loss"] < 1.1 * error


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_classes": 1}, "`num_classes` must be an integer >= 2"),
        ({"filter_sizes": ()}, "`filter_sizes` must be a list of distinct integers"),
        ({"filter_sizes": (3, 3)}, "`filter_sizes` must be a list of distinct integers"),
        ({"filter_sizes": (0,)}, "`filter_sizes` must be an integer >= 1"),
        ({"num_filters": 0}, "`filters` must be an integer >= 1"),
        ({"dropout": 1.0}, r"`dropout` must be a number in \[0, 0.999\]\."),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        text_cnn(table(), **{"num_classes": 3, **change})
