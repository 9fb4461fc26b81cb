"""Questions about Keras models, and copies of them with other layers, answered on real ones."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.keras_graph import (
    copy_with,
    in_symbolic_scope,
    is_graph,
    is_stock_embedding,
    is_stock_tied,
)

REVERSIBLE = getattr(keras.layers, "ReversibleEmbedding", None)
X = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def functional():
    x = keras.Input((3,), name="x")
    y = keras.layers.Dense(5, activation="tanh", name="hidden")(x)
    return keras.Model(x, keras.layers.Dense(2, name="head")(y))


def nothing(layer):
    return None


def test_copies_weights_and_shares_none():
    model = functional()
    copy = copy_with(model, nothing)
    np.testing.assert_array_equal(copy(X), model(X))
    before = model(X)
    copy.get_layer("head").kernel.assign(np.ones((5, 2)))
    np.testing.assert_array_equal(model(X), before)
    assert np.any(np.asarray(copy(X)) != before)


def test_replaces_layers():
    model = functional()
    doubled = keras.layers.Rescaling(2.0, name="hidden")
    seen = []

    def replace(layer):
        seen.append(layer.name)
        return doubled if layer.name == "hidden" else None

    plain = keras.Sequential([keras.Input((5,)), keras.layers.Dense(5, name="hidden")])
    copy = copy_with(plain, replace)
    ones = np.ones((1, 5))
    np.testing.assert_array_equal(copy(ones), 2 * ones)
    assert seen.count("hidden") == 1
    kept = copy_with(model, lambda layer: None)
    assert [layer.name for layer in kept.layers] == [layer.name for layer in model.layers]


def test_nested_models_and_layers_that_two_models_share():
    shared = keras.layers.Dense(3, name="shared")
    inner = keras.Sequential([keras.Input((3,)), shared], name="inner")
    x = keras.Input((3,))
    model = keras.Model(x, keras.layers.Add()([inner(x), shared(x)]))
    calls = []

    def replace(layer):
        calls.append(layer)
        return keras.layers.Rescaling(5.0) if layer is shared else None

    assert len(copy_with(model, nothing).weights) == 2
    np.testing.assert_array_equal(copy_with(model, nothing)(X), model(X))
    np.testing.assert_allclose(copy_with(model, replace)(X), 10 * X, rtol=1e-6)
    assert calls.count(shared) == 1


def test_the_copy_is_compiled_as_the_model_was():
    model = functional()
    assert not copy_with(model, nothing).compiled
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(X, np.zeros((4, 2)), verbose=0)
    copy = copy_with(model, nothing)
    assert type(copy.optimizer).__name__ == "SGD"
    found, expected = (m.evaluate(X, np.ones((4, 2)), verbose=0) for m in (copy, model))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_configurations_may_differ():
    model = functional()

    def halved(layer):
        return {**layer.get_config(), "dtype": "float16"}

    assert copy_with(model, nothing, halved).get_layer("head").compute_dtype == "float16"


def test_what_is_a_graph():
    class Subclassed(keras.Model):
        def call(self, x):
            return x

    sequential = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    assert is_graph(functional()) and is_graph(sequential)
    for other in (Subclassed(), keras.Sequential([keras.layers.Dense(2)]), None):
        assert not is_graph(other)
        with pytest.raises(ValueError, match="`model` must be a functional or Sequential model"):
            copy_with(other, nothing)


@pytest.mark.parametrize("nested", [False, True])
def test_layers_inside_time_distributed(nested):
    shared = keras.layers.Dense(3, name="shared")
    inner = keras.Sequential([keras.Input((3,)), shared]) if nested else shared
    x = keras.Input((2, 3))
    model = keras.Model(x, [keras.layers.TimeDistributed(inner, name="each")(x), shared(x)])
    values = np.stack([X[:2], X[2:]])
    copy = copy_with(model, nothing)
    assert len(copy.weights) == 2  # still one layer
    np.testing.assert_array_equal(copy(values)[0], model(values)[0])
    other = copy_with(model, lambda layer: keras.layers.Rescaling(5.0) if layer is shared else None)
    for output in other(values):
        np.testing.assert_allclose(output, 5 * values, rtol=1e-6)
    assert other.get_layer("each").compute_dtype == "float32" and not other.weights


def test_plain_embeddings():
    class Other(keras.layers.Embedding):
        pass

    assert is_stock_embedding(keras.layers.Embedding(9, 2))
    assert not is_stock_embedding(Other(9, 2)) and not is_stock_embedding(None)
    quantized = keras.layers.Embedding(9, 2)
    quantized.build()
    quantized.quantize("int8")
    assert not is_stock_embedding(quantized)


@pytest.mark.skipif(REVERSIBLE is None, reason="since Keras 3.13")
def test_tied_ones_without_more():
    assert is_stock_tied(REVERSIBLE(9, 2)) and is_stock_embedding(REVERSIBLE(9, 2))
    assert not is_stock_embedding(REVERSIBLE(9, 2, tie_weights=False))
    assert not is_stock_embedding(REVERSIBLE(9, 2, logit_soft_cap=3.0))


def test_tells_the_symbolic_stage_of_keras_from_a_call():
    """A release of Keras that names its scopes otherwise fails here."""
    seen = []

    class Look(keras.losses.Loss):
        def call(self, y_true, y_pred):
            seen.append(in_symbolic_scope())
            return keras.ops.mean(y_true - y_pred, axis=-1)

    with tf.distribute.OneDeviceStrategy("/cpu:0").scope():  # Keras builds so for strategies only
        model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
        model.compile("sgd", Look(), jit_compile=False)
        model.fit(keras.ops.zeros((2, 1)), keras.ops.zeros((2, 1)), verbose=0)
    assert seen[0] and not any(seen[1:]) and len(seen) > 1  # built, then trained
    with keras.SymbolicScope():
        assert in_symbolic_scope()
        assert in_symbolic_scope()  # looking does not leave the scope
    assert not in_symbolic_scope()
