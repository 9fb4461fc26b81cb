"""Questions about Keras models, and copies of them with other layers, answered on real ones."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.keras_graph import (
    OpenOptimizer,
    all_layers,
    build_shapes,
    calls_in,
    copy_with,
    direct_layers,
    graph_inputs,
    in_symbolic_scope,
    inner_layers,
    is_graph,
    is_graph_of,
    is_one_table,
    is_stock_embedding,
    output_names,
    own_variables,
    reached_layers,
    required_arguments,
    run_graph,
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
    model.compile("adam", "mse", metrics=["mae"], run_eagerly=True)
    model.fit(X, np.zeros((4, 2)), verbose=0)
    copy = copy_with(model, nothing)
    assert type(copy.optimizer).__name__ == "SGD"
    found, expected = (m.evaluate(X, np.ones((4, 2)), verbose=0) for m in (copy, model))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


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
    class Named(keras.layers.Embedding):
        """Looks up as Keras does."""

        def __init__(self, size):
            super().__init__(size, 2, mask_zero=True)

        def get_config(self):
            return {"size": self.input_dim}

    class Scaled(Named):
        def call(self, inputs):
            return 2 * super().call(inputs)

    class Masked(Named):
        def compute_mask(self, inputs, mask=None):
            return inputs != 3

    assert is_stock_embedding(keras.layers.Embedding(9, 2)) and is_stock_embedding(Named(9))
    exported = type("Exported", (keras.layers.Embedding,), {"_api_export_path": "hub.Exported"})
    assert is_stock_embedding(exported(9, 2))  # as keras-hub's own name for it
    assert not any(map(is_stock_embedding, (Scaled(9), Masked(9), None)))
    quantized = keras.layers.Embedding(9, 2)
    quantized.build()
    quantized.quantize("int8")
    assert not is_stock_embedding(quantized)


@pytest.mark.skipif(REVERSIBLE is None, reason="since Keras 3.13")
def test_tied_ones_without_more():
    assert is_one_table(REVERSIBLE(9, 2)) and is_stock_embedding(REVERSIBLE(9, 2))
    for more in (REVERSIBLE(9, 2, tie_weights=False), REVERSIBLE(9, 2, logit_soft_cap=3.0)):
        assert is_stock_embedding(more) and not is_one_table(more)


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


def nested():
    """A Sequential model with a functional one inside, each with a `Dense` of its own."""
    return keras.Sequential([keras.Input((3,)), functional(), keras.layers.Dense(4, name="top")])


def test_layers_of_a_nested_model():
    model = nested()
    names = ["hidden", "head", "top"]
    dense = [one.name for one in inner_layers(model) if isinstance(one, keras.layers.Dense)]
    assert sorted(dense) == sorted(names) and all_layers(model)[0] is model
    assert len(all_layers(model)) == len(inner_layers(model)) + 1
    direct = [one.name for one in direct_layers(model) if isinstance(one, keras.layers.Dense)]
    assert direct == ["top"]


def test_reached_layers_are_those_that_a_copy_asks_for():
    shared = keras.layers.Dense(3, name="shared")
    each = keras.layers.TimeDistributed(shared)
    wrapped = keras.layers.Bidirectional(keras.layers.LSTM(2), name="wrapped")
    x = keras.Input((2, 3))
    model = keras.Model(x, [nested()(shared(x[:, 0])), wrapped(each(x))])
    asked = []
    copy_with(model, lambda layer: asked.append(layer.name))
    opened = (keras.layers.InputLayer, keras.layers.TimeDistributed, keras.Model)
    reached = {one.name for one in reached_layers(model) if not isinstance(one, opened)}
    assert reached >= {"shared", "hidden", "head", "top", "wrapped"}
    assert reached <= set(asked)  # which are also asked for what is inside them


def test_a_layer_makes_its_own_variables_only():
    model = nested()
    assert own_variables(model) == []
    assert [one.name for one in own_variables(model.get_layer("top"))] == ["kernel", "bias"]


def test_runs_a_graph_on_other_inputs_with_other_layers():
    x, y = (keras.Input((3,), name=name) for name in "xy")
    dense = keras.layers.Dense(3, name="dense")
    model = keras.Model({"x": x, "y": y}, {"sum": keras.layers.Add(name="add")([dense(x), y])})
    given = [keras.Input((3,), batch_size=5, name=name) for name in "xy"]
    assert run_graph(model, given)["sum"].shape == (5, 3)
    doubled = keras.layers.Rescaling(2.0)
    outputs = run_graph(model, given, copy=lambda one: doubled if one is dense else one)
    np.testing.assert_allclose(keras.Model(given, outputs)([X, X])["sum"], 3 * X, rtol=1e-6)
    assert output_names(model) == ["add"]
    assert [one.name for one in keras.tree.flatten(graph_inputs(model))] == ["x", "y"]
    run = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="last")])
    assert run_graph(run, [given[0]]).shape == (5, 2) and output_names(run) == ["last"]


def test_calls_are_those_of_one_model():
    shared = keras.layers.Dense(3, name="shared")
    x = keras.Input((3,), name="x")
    once, twice = keras.Model(x, shared(x)), keras.Model(x, shared(shared(x)))
    assert [len(calls_in(model, shared)) for model in (once, twice)] == [1, 2]
    assert calls_in(once, keras.layers.Dense(3)) == []


def test_how_a_subclassed_model_is_called():
    class Two(keras.Model):
        def call(self, first, second, mask=None, training=None):
            return first + second

    model = Two()
    assert build_shapes(model) == {} and required_arguments(model) == ["first", "second"]
    model(X, X)
    assert tuple(next(iter(build_shapes(model).values()))) == X.shape


def test_the_graph_that_a_sequential_model_keeps():
    model = nested()
    inner = next(one for one in model.layers if isinstance(one, keras.Model))
    assert not is_graph_of(inner, model) and not is_graph_of(model, inner)


def test_an_open_optimizer_steps_as_keras_does_until_something_is_overridden():
    class Open(OpenOptimizer, keras.optimizers.SGD):
        pass

    class Clipped(Open):
        def clipped(self, gradients):
            return [0.5 * one for one in super().clipped(gradients)]

    def step(kind):
        options = dict(momentum=0.5, weight_decay=0.1, clipnorm=1.0, use_ema=True)
        optimizer, variable = kind(0.1, **options), keras.Variable(X)
        optimizer.build([variable])
        for _ in range(2):
            optimizer.apply([tf.constant(X)], [variable])
        assert kind is keras.optimizers.SGD or optimizer.trained[0] is variable
        return np.asarray(variable), optimizer

    (expected, _), (found, optimizer) = step(keras.optimizers.SGD), step(Open)
    np.testing.assert_array_equal(found, expected)
    assert len(optimizer.averages) == 1 and optimizer.decays(optimizer.trained[0])
    assert np.abs(step(Clipped)[0] - expected).max() > 1e-3


def test_a_copy_has_the_loss_and_metrics_of_the_model():
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, "softmax")])
    loss = keras.losses.SparseCategoricalCrossentropy()
    model.compile("adam", loss, metrics=["accuracy"], run_eagerly=True)
    x, y = np.eye(3, dtype=np.float32), np.array([0, 1, 1])
    copied = copy_with(model, lambda layer: None)
    assert copied.evaluate(x, y, verbose=0) == model.evaluate(x, y, verbose=0)
