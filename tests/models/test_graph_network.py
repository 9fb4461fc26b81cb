"""Kipf and Welling's network against dense NumPy."""

import keras
import numpy as np
import pytest

from kerascompact.export.freezing import freeze
from kerascompact.layers import KDCodeEmbedding, LowRankEmbedding
from kerascompact.models import graph_network

RANDOM = np.random.default_rng(0)
FEATURES = (RANDOM.uniform(size=(8, 6)) < 0.4).astype(np.float32)
FEATURES[2] = 0
EDGES = np.array([[0, 1], [1, 2], [2, 5], [3, 3], [4, 6], [0, 6]])  # node 7 has none
LABELS = np.array([0, 1, 2, 0, 1, 2, 0, 1])
NODES = np.array([5, 0, 7, 7])


def full(**options):
    table = keras.layers.Embedding(6, 4, embeddings_initializer="glorot_uniform", name="embedding")
    return graph_network(table, FEATURES, EDGES, 3, **options)


def probabilities(table, kernel):
    a = np.eye(8)
    for u, v in EDGES:
        a[u, v] += 1
        a[v, u] += u != v
    root = np.diag(a.sum(axis=1) ** -0.5)
    a_hat = root @ a @ root
    x = FEATURES / np.maximum(FEATURES.sum(axis=1, keepdims=True), 1)
    logits = a_hat @ np.maximum(a_hat @ x @ table, 0) @ kernel
    powers = np.exp(logits)
    return powers / powers.sum(axis=1, keepdims=True)


def test_equals_the_formula_for_the_nodes_asked_for():
    model = full()
    model.set_weights([RANDOM.normal(size=w.shape) if "float" in w.dtype and len(w.shape) == 2
                       else w.numpy() for w in model.weights])  # fmt: skip
    table = model.get_layer("embedding").embeddings.numpy()
    expected = probabilities(table, model.get_layer("logits").kernel.numpy())
    for nodes in (NODES[:1], NODES):
        np.testing.assert_allclose(model(nodes), expected[nodes], rtol=1e-4)
    assert model.inputs[0].name == "nodes" and model.output_names == ["probabilities"]


def test_weight_decay_is_that_of_the_table():
    model = full(l2_weight=0.5)
    model.compile("sgd", "sparse_categorical_crossentropy", jit_compile=False)
    table = model.get_layer("embedding").embeddings.numpy()
    expected = probabilities(table, model.get_layer("logits").kernel.numpy())
    loss = -np.log(expected[NODES, LABELS[NODES]]).mean() + 0.5 * np.sum(table**2)
    found = model.evaluate(NODES, LABELS[NODES], verbose=0)
    np.testing.assert_allclose(found, loss, rtol=1e-5)
    assert not full(l2_weight=0).losses


def test_dropout_acts_in_training_only():
    model = full(dropout=0.5, seed=0)
    first, second = model(NODES, training=True), model(NODES, training=True)
    assert np.abs(first - second).max() > 1e-4
    np.testing.assert_array_equal(model(NODES), model(NODES))
    plain = full(dropout=0)
    np.testing.assert_array_equal(plain(NODES, training=True), plain(NODES))


@pytest.mark.slow
def test_trains_in_fit_saves_and_loads(tmp_path):
    model = full()
    model.compile(keras.optimizers.Adam(0.05), "sparse_categorical_crossentropy", jit_compile=True)
    before = model.evaluate(np.arange(8), LABELS, batch_size=8, verbose=0)
    model.fit(np.arange(8), LABELS, batch_size=8, epochs=15, verbose=0)
    assert model.evaluate(np.arange(8), LABELS, batch_size=8, verbose=0) < before
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    found = again.predict(NODES, verbose=0)
    np.testing.assert_allclose(found, model.predict(NODES, verbose=0), rtol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "embedding",
    [
        lambda: LowRankEmbedding(6, 4, 2, name="embedding"),
        lambda: KDCodeEmbedding(6, 4, 4, 3, batch_norm=True, name="embedding"),
    ],
)
def test_any_embedding_trains_and_freezes(embedding):
    model = graph_network(embedding(), FEATURES, EDGES, 3)
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    model.fit(np.arange(8), LABELS, batch_size=8, epochs=2, verbose=0)
    frozen = freeze(model, "float32").model
    found = frozen(NODES)
    # a form folds batch normalization into its arrays: other roundings
    np.testing.assert_allclose(found, model(NODES), rtol=1e-4)


def test_probabilities_are_float32_under_mixed_precision():
    keras.config.set_dtype_policy("mixed_float16")
    try:
        model = full()
    finally:
        keras.config.set_dtype_policy("float32")
    found = model.predict(NODES, verbose=0)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_classes": 1}, "`num_classes` must be an integer >= 2"),
        ({"dropout": 1.0}, r"`dropout` must be a number in \[0, 0.999\]\."),
        ({"l2_weight": -1.0}, r"`l2_weight` must be a finite number >= 0\."),
        ({"edges": np.array([[0, 8]])}, r"`edges` must lie in \[0, 8\)"),
        ({"features": FEATURES[:, :5]}, "an id for each of the 5 features. Received: input_dim=6"),
    ],
)
def test_refuses(change, message):
    arguments = {"features": FEATURES, "edges": EDGES, "num_classes": 3, **change}
    with pytest.raises(ValueError, match=message):
        graph_network(keras.layers.Embedding(6, 4), **arguments)
