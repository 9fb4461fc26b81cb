"""Twins of layers and models: equal outputs, weights of their own, nothing lost or shared."""

import keras
import numpy as np
import pytest

from kerascompact.core.keras_graph import all_layers, copy_with, inner_layers
from kerascompact.core.keras_graph.twins import Twins

X = np.random.default_rng(0).normal(size=(2, 5, 4)).astype("float32")
LAYERS = {
    "LSTM": lambda: keras.layers.LSTM(3, dropout=0.2),
    "Bidirectional": lambda: keras.layers.Bidirectional(keras.layers.GRU(3)),
    "RNN": lambda: keras.layers.RNN([keras.layers.LSTMCell(3), keras.layers.GRUCell(2)]),
    "TimeDistributed": lambda: keras.layers.TimeDistributed(keras.layers.Dense(3)),
    "BatchNormalization": keras.layers.BatchNormalization,
    "Lambda": lambda: keras.layers.Lambda(lambda x: 2 * x),
    "Conv1D": lambda: keras.layers.Conv1D(3, 2, activation="relu", kernel_regularizer="l2"),
    "Sequential": lambda: keras.Sequential([keras.layers.Dense(3), keras.layers.Dropout(0.5)]),
}


def nothing(layer):
    return None


def over(layer):
    x = keras.Input((5, 4))
    return keras.Model(x, layer(x))


def changed(model):
    """The outputs before and after all weights of a model change."""
    before = np.asarray(model(X))
    for weight in model.weights:
        weight.assign(weight + 1.0)
    return before, np.asarray(model(X))


@pytest.mark.few(2)
@pytest.mark.parametrize("name", LAYERS)
def test_of_the_layers_of_keras(name):
    model = over(LAYERS[name]())
    copy = copy_with(model, nothing)
    wanted = np.asarray(model(X))
    np.testing.assert_array_equal(copy(X), wanted)
    assert [v.path for v in copy.variables] == [v.path for v in model.variables]
    assert [v.trainable for v in copy.variables] == [v.trainable for v in model.variables]
    shared = {id(v) for v in model.variables} & {id(v) for v in copy.variables}
    assert not shared
    before, after = changed(copy)
    np.testing.assert_array_equal(before, wanted)
    np.testing.assert_array_equal(model(X), wanted)
    assert not copy.weights or np.any(after != wanted)
    copy.compile("sgd", "mse", run_eagerly=True)
    copy.fit(X, np.zeros_like(wanted), verbose=0)


def test_attention_and_its_seed():
    x = keras.Input((5, 4))
    attention = keras.layers.MultiHeadAttention(2, 3, dropout=0.5)
    model = keras.Model(x, attention(x, x))
    copy = copy_with(model, nothing)
    np.testing.assert_array_equal(copy(X), model(X))
    drawn = [np.asarray(one(X, training=True)) for one in (model, copy, model)]
    np.testing.assert_array_equal(drawn[0], drawn[1])  # each has the seed for itself
    assert np.any(drawn[0] != drawn[2])


class Forgetful(keras.layers.Layer):
    """A layer whose configuration lacks its factor, and that has layers in many places."""

    def __init__(self, factor=1.0, **config):
        super().__init__(**config)
        self.factor = factor
        self.all = {"first": [keras.layers.Dense(4)], "second": (keras.layers.Dense(4),)}
        self.method = self.twice

    def twice(self, x):
        return 2 * self.factor * self.all["first"][0](x)

    def call(self, x):
        return self.all["second"][0](self.method(x))


def test_keeps_what_the_configuration_lacks():
    model = over(Forgetful(3.0))
    copy = copy_with(model, nothing)
    np.testing.assert_array_equal(copy(X), model(X))
    before, after = changed(copy)
    np.testing.assert_array_equal(model(X), before)
    assert np.any(before != after)


def test_replaces_layers_inside_others_and_then_refuses_to_save(tmp_path):
    model = over(Forgetful(name="forgetful"))
    kept = keras.layers.Rescaling(10.0)
    first = model.get_layer("forgetful").all["first"][0]
    copy = copy_with(model, lambda layer: kept if layer is first else None)
    second = model.get_layer("forgetful").all["second"][0]
    np.testing.assert_allclose(copy(X), second(20 * X), rtol=1e-6)
    assert any(layer is kept for layer in inner_layers(copy))
    with pytest.raises(ValueError, match="a Forgetful with other layers inside cannot be saved"):
        copy.save(tmp_path / "model.keras")
    again = copy_with(copy, nothing)
    np.testing.assert_array_equal(again(X), copy(X))
    with pytest.raises(ValueError, match="a Forgetful with other layers inside cannot be saved"):
        again.save(tmp_path / "model.keras")


@keras.saving.register_keras_serializable("tests")
class Closing(keras.layers.Layer):
    """A layer with a function that holds a layer, which no twin could exchange."""

    def __init__(self, **config):
        super().__init__(**config)
        self.dense = keras.layers.Dense(4)
        self.function = lambda x: self.dense(x)

    def build(self, shape):
        self.dense.build(shape)

    def call(self, x):
        return self.function(x)


def test_a_function_that_holds_a_layer_is_copied_by_its_configuration():
    model = over(Closing())
    copy = copy_with(model, nothing)
    before, after = changed(copy)
    np.testing.assert_array_equal(model(X), before)
    assert np.any(before != after)


class Whole(keras.Model):
    """A functional model of a class of its own."""

    def __init__(self, **config):
        x = keras.Input((5, 4))
        dense, other = keras.layers.Dense(4, name="inside"), keras.layers.Dense(2)
        super().__init__(x, dense(x), **config)
        self.dense, self.parts = dense, [dense, other]
        other.build((None, 4))

    def twice(self, x):
        return self.dense(self.dense(x))


def test_a_model_keeps_its_class_and_its_methods():
    model = Whole(name="whole")
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=True)
    copy = copy_with(model, nothing)
    assert type(copy) is Whole and copy.name == "whole" and copy.compiled
    assert copy.dense is copy.parts[0] is copy.get_layer("inside") is not model.dense
    assert copy.parts[1] is not model.parts[1] and len(copy.parts[1].weights) == 2
    np.testing.assert_array_equal(copy.twice(X), model.twice(X))
    copy.fit(X, X, verbose=0)
    assert np.any(np.asarray(copy(X)) != np.asarray(model(X)))
    kept = keras.layers.Rescaling(3.0)
    tripled = copy_with(model, lambda layer: kept if layer is model.dense else None)
    np.testing.assert_allclose(tripled.twice(X), 9 * X, rtol=1e-6)
    nested = over(model)
    assert [type(layer) for layer in copy_with(nested, nothing).layers][1] is Whole


@pytest.mark.parametrize("policy", ["mixed_float16", "bfloat16"])
def test_computes_in_float32_if_asked_to(policy):
    model = over(Forgetful(dtype=policy))
    for layer in all_layers(model):
        assert layer.dtype_policy.name in (policy, "float32")
    copy = copy_with(model, nothing, float32=True)
    assert {layer.compute_dtype for layer in all_layers(copy)} == {"float32"}
    assert {weight.dtype for weight in copy.weights} == {"float32"}
    for one, two in zip(copy.weights, model.weights, strict=True):
        np.testing.assert_array_equal(one, keras.ops.cast(two, "float32"))
    assert np.asarray(copy(X)).dtype == "float32"


def test_one_twin_of_each():
    twins, dense = Twins(nothing), keras.layers.Dense(2)
    dense.build((None, 3))
    assert twins.of(dense) is twins.of(dense)
