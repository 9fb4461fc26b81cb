"""Graph convolution against dense NumPy, in every way that a Keras layer is used."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.layers import GraphConvolution
from kerascompact.layers.graph.constants import Constants
from kerascompact.ops.graph import normalized_adjacency

EDGES = np.array([[0, 1], [1, 2], [2, 2], [0, 4]])  # node 3 has none
PLACES, VALUES = normalized_adjacency(EDGES, 5)
A_HAT = np.zeros((5, 5))
A_HAT[tuple(PLACES.T)] = VALUES
X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def sparse_tensor():
    return tf.SparseTensor(PLACES.astype(np.int64), VALUES, (5, 5))


@pytest.mark.parametrize("kind", ["pair", "sparse"])
def test_equals_the_formula(kind):
    layer = GraphConvolution(4, activation="relu", bias_initializer="ones")
    found = layer(X, (PLACES, VALUES) if kind == "pair" else sparse_tensor())
    expected = np.maximum(A_HAT @ X @ layer.kernel.numpy() + 1, 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_without_units_it_propagates():
    layer = GraphConvolution(None, use_bias=False)
    np.testing.assert_allclose(layer(X, (PLACES, VALUES)), A_HAT @ X, rtol=1e-5, atol=1e-6)
    assert not layer.weights


@pytest.mark.parametrize("kind", ["pair", "sparse"])
def test_works_under_xla_on_a_graph_of_unknown_size(kind):
    layer = GraphConvolution(2)
    layer.build((None, 3))
    unknown = tf.TensorSpec((None, 3))
    if kind == "sparse":
        specs, adjacency = [unknown, tf.SparseTensorSpec((None, None))], sparse_tensor()
    else:
        pair = (tf.TensorSpec((None, 2), tf.int32), tf.TensorSpec((None,)))
        specs, adjacency = [unknown, pair], (tf.constant(PLACES), tf.constant(VALUES))
    for jit_compile in (False, True):
        call = tf.function(layer.__call__, specs, jit_compile=jit_compile, autograph=False)
        expected = A_HAT @ X @ layer.kernel.numpy()
        np.testing.assert_allclose(call(X, adjacency), expected, rtol=1e-5, atol=1e-6)


def test_trains_saves_and_loads(tmp_path):
    vectors = keras.Input(batch_shape=(5, 3))
    held = Constants({"places": PLACES, "values": VALUES})(vectors)
    layer = GraphConvolution(2, activation="softmax")
    model = keras.Model(vectors, layer(vectors, (held["places"], held["values"])))
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    before = layer.kernel.numpy()
    model.train_on_batch(X, np.array([0, 1, 0, 1, 0]))
    assert np.abs(layer.kernel.numpy() - before).min() > 0
    model.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    found = again(X)
    np.testing.assert_allclose(found, model(X), rtol=1e-6)


def test_takes_another_graph_as_input():
    inputs = keras.Input(batch_shape=(None, 3)), keras.Input(batch_shape=(None, None), sparse=True)
    model = keras.Model(inputs, GraphConvolution(2, use_bias=False)(*inputs))
    kernel = model.get_weights()[0]
    found = model([tf.constant(X), sparse_tensor()])
    np.testing.assert_allclose(found, A_HAT @ X @ kernel, rtol=1e-5, atol=1e-6)
    alone = model([tf.constant(X[:2]), tf.sparse.eye(2)])
    np.testing.assert_allclose(alone, X[:2] @ kernel, rtol=1e-5, atol=1e-6)


def test_computes_in_mixed_float16():
    layer = GraphConvolution(4, dtype="mixed_float16")
    found = layer(X, (PLACES, VALUES))
    assert found.dtype == "float16" and layer.kernel.dtype == "float32"
    expected = A_HAT @ X @ layer.kernel.numpy()
    np.testing.assert_allclose(found, expected, atol=5e-3)  # float16 has 11 bits


def test_keeps_its_config_and_regularizes():
    layer = GraphConvolution(
        4,
        activation="tanh",
        use_bias=False,
        kernel_initializer="ones",
        kernel_regularizer=keras.regularizers.L2(0.5),
    )
    again = GraphConvolution.from_config(json.loads(json.dumps(layer.get_config())))
    assert again.get_config() == layer.get_config()
    again(X, (PLACES, VALUES))
    assert float(again.losses[0]) == 0.5 * 12


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": 0}, "`units` must be an integer >= 1"),
        ({"units": 2.5}, "`units` must be an integer >= 1"),
        ({"use_bias": "no"}, "`use_bias` must be True or False"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        GraphConvolution(**{"units": 4, **change})
