"""Lazy SGD and all other lazy optimizers against formulas in NumPy and Keras on dense gradients."""

import copy
import importlib
import pickle

import keras
import numpy as np
import pytest
import tensorflow as tf

from graphs import tensors_with_rows
from kerascompact.layers import ClusterEmbedding
from kerascompact.optimizers import LazyAdam, LazySGD, Proximal, lazy
from kerascompact.optimizers.lazy import ELEMENTWISE
from sparse_steps import (
    ALL,
    BIG,
    CLOSE,
    IDS,
    LABELS,
    ROWS,
    WIDTH,
    fitted,
    run,
    start,
    step_on_a_big_table,
    steps,
    summed,
)


def sgd(gradients, rate=0.1, momentum=0.0, nesterov=False):
    """Sutskever et al., section 2, in float64."""
    x, u = start().astype(np.float64), 0.0
    for g in gradients:
        u = momentum * u - rate * g
        x = x + (momentum * u - rate * g if nesterov else u)
    return x


SGD_CONFIGS = [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}]


@pytest.mark.parametrize("config", SGD_CONFIGS, ids=str)
def test_sgd_equals_the_formula_when_every_row_is_touched(config):
    found, _ = run(LazySGD(0.1, **config), ALL)
    expected = sgd([summed(values, ALL) for values in steps(ALL)], **config)
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("clip", [{"clipnorm": 0.5}, {"global_clipnorm": 0.5}, {"clipvalue": 0.1}])
@pytest.mark.parametrize("config", SGD_CONFIGS, ids=str)
def test_sgd_equals_keras_on_the_dense_gradient(config, clip):
    found, slots = run(LazySGD(0.1, **config, **clip), ALL)
    expected, dense = run(keras.optimizers.SGD(0.1, **config, **clip), ALL, dense=True)
    np.testing.assert_allclose(found, expected, **CLOSE)
    for slot, dense_slot in zip(slots, dense, strict=True):
        np.testing.assert_allclose(slot, dense_slot, **CLOSE)


@pytest.mark.parametrize("config", [*SGD_CONFIGS, {"global_clipnorm": 0.5}], ids=str)
def test_sgd_leaves_rows_that_are_not_in_the_batch(config):
    found, slots = run(LazySGD(0.1, **config), [1, 4, 1])
    others = [0, 2, 3, 5]
    np.testing.assert_array_equal(found[others], start()[others])
    for slot in slots:
        assert not slot[others].any() and slot[[1, 4]].any()


@pytest.mark.skipif(
    not hasattr(keras.optimizers, "OptimizerMap"), reason="one optimizer for each layer: Keras 3.15"
)
def test_two_optimizers_in_one_model_train_and_go_on_after_loading(tmp_path):
    """Codes by Adam, the rest by SGD: what the language models of KD codes do."""
    optimizers = keras.optimizers.OptimizerMap(
        LazySGD(0.1, global_clipnorm=1.0), {".*/logits": LazyAdam(0.01)}
    )
    model = keras.Sequential([keras.Input((3,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    model.compile(keras.optimizers.MultiOptimizer(optimizers), "mse", run_eagerly=True)
    ids = np.array([[1, 1, 4], [0, 2, 4]])
    model.train_on_batch(ids, np.ones((2, 3, 2)))
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    for one, other in zip(model.optimizer.variables, again.optimizer.variables, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


KINDS = [
    ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    ("AdamW", {"weight_decay": 0.1}),
    ("AdamW", {"amsgrad": True, "clipnorm": 0.5}),
    ("Nadam", {"use_ema": True}),
    ("Adamax", {"global_clipnorm": 0.5}),
    ("Adagrad", {"weight_decay": 0.1}),
    ("Adadelta", {"clipvalue": 0.1}),
    ("RMSprop", {}),
    ("RMSprop", {"centered": True, "momentum": 0.9, "loss_scale_factor": 4.0}),
    ("Ftrl", {"l1_regularization_strength": 0.05, "l2_shrinkage_regularization_strength": 0.1}),
    ("Lion", {"gradient_accumulation_steps": 3}),
]


@pytest.mark.few(5)
@pytest.mark.parametrize("kind, config", KINDS)
def test_any_optimizer_equals_keras_on_the_dense_gradient(kind, config):
    make = getattr(keras.optimizers, kind)
    found, slots = run(lazy(make(0.1, **config)), ALL)
    expected, dense = run(make(0.1, **config), ALL, dense=True)
    np.testing.assert_allclose(found, expected, **CLOSE)
    for slot, dense_slot in zip(slots, dense, strict=True):
        np.testing.assert_allclose(slot, dense_slot, **CLOSE)
    assert np.abs(found - start()).max() > 1e-4


def test_all_kinds_are_tested():
    assert {kind for kind, _ in KINDS} | {"Adam"} == {kind.__name__ for kind in ELEMENTWISE}


@pytest.mark.parametrize("kind", [kind.__name__ for kind in ELEMENTWISE])
def test_any_optimizer_leaves_rows_that_are_not_in_the_batch(kind):
    """Variable and slots, weight decay on; and what is in the batch moves."""
    optimizer = lazy(getattr(keras.optimizers, kind)(0.1, weight_decay=0.1))
    variable = keras.Variable(start())
    optimizer.build([variable])
    first = tf.IndexedSlices(tf.ones((ROWS, WIDTH)), tf.range(ROWS), (ROWS, WIDTH))
    optimizer.apply([first], [variable])  # every row has moments now
    state = [v for v in [variable, *optimizer.variables] if v.shape == (ROWS, WIDTH)]
    before = [v.numpy() for v in state]
    second = tf.IndexedSlices(-tf.ones((3, WIDTH)), tf.constant([4, 1, 4]), (ROWS, WIDTH))
    optimizer.apply([second], [variable])
    for old, new in zip(before, state, strict=True):
        np.testing.assert_array_equal(old[[0, 2, 3, 5]], new.numpy()[[0, 2, 3, 5]])
    assert (before[0][[1, 4]] != variable.numpy()[[1, 4]]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["RMSprop", "Ftrl"])
def test_no_tensor_of_any_optimizers_step_has_as_many_rows(kind):
    optimizer = lazy(getattr(keras.optimizers, kind)(weight_decay=0.1, global_clipnorm=1.0))
    assert tensors_with_rows(step_on_a_big_table(optimizer), BIG) == []


def test_weight_decay_can_be_excluded():
    optimizer = lazy(keras.optimizers.SGD(0.1, weight_decay=0.5))
    variables = [keras.Variable(start(), name=name) for name in ("one", "other")]
    optimizer.exclude_from_weight_decay(var_list=[variables[1].value])
    none = tf.IndexedSlices(tf.zeros((1, WIDTH)), tf.constant([2]), (ROWS, WIDTH))
    optimizer.build(variables)
    optimizer.apply([none, none], variables)
    np.testing.assert_allclose(variables[0][2], start()[2] * 0.95, rtol=1e-6)
    np.testing.assert_array_equal(variables[1], start())


@pytest.mark.parametrize("wrap", [lazy, Proximal, lambda optimizer: Proximal(lazy(optimizer))])
@pytest.mark.parametrize("by", ["var_list", "var_names"])
def test_what_an_optimizer_excludes_from_weight_decay_stays_excluded(wrap, by):
    table, bias = (keras.Variable(start(), name=name) for name in ("table", "bias"))
    stock = keras.optimizers.AdamW(0.1, weight_decay=0.5)
    stock.exclude_from_weight_decay(**{by: [bias] if by == "var_list" else ["bias"]})
    optimizer = wrap(stock)
    optimizer.apply([tf.zeros((ROWS, WIDTH))] * 2, [table, bias])
    np.testing.assert_allclose(table, start() * 0.95, rtol=1e-6)
    np.testing.assert_array_equal(bias, start())


@pytest.mark.parametrize(
    "ways", [(False,), pytest.param((False, True), marks=pytest.mark.slow)], ids=["plain", "both"]
)
def test_any_optimizer_trains_saves_and_goes_on_compiled_or_not(ways, tmp_path):
    """`test_compiled_steps` compiles others in the short suite."""
    weights, models = [], []
    for jit_compile in ways:
        optimizer = lazy(keras.optimizers.RMSprop(0.05, centered=True, weight_decay=0.01))
        model, _ = fitted(optimizer, jit_compile, epochs=1, eager=not jit_compile)
        weights.append(model.get_weights())
        models.append(model)
    model = models[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer).__name__ == "LazyRMSprop"
    for one in (model, loaded):
        one.train_on_batch(IDS[:16], LABELS[:16])
    for old, new in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_allclose(old, new, rtol=1e-6, atol=1e-7)
    for one, other in zip(weights[0], weights[-1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_lazy_takes_names_and_new_instances():
    assert type(lazy("adam")) is LazyAdam and type(lazy("sgd")) is LazySGD
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.5)
    given = keras.optimizers.Adagrad(rate, epsilon=1e-3, clipnorm=2.0, name="mine")
    config = lazy(given).get_config()
    assert config == given.get_config()
    same = LazyAdam()
    assert lazy(same) is same


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ELEMENTWISE)
def test_copies_and_pickles(kind):
    made = [lazy(kind(0.5))]
    made += [] if kind is keras.optimizers.Ftrl else [Proximal(kind(0.5))]
    for one in made:
        again = pickle.loads(pickle.dumps(one)), copy.deepcopy(one)
        for other in again:
            assert type(other) is type(one) and other.get_config() == one.get_config()


@pytest.mark.parametrize("name", ["lazy.LazyNadam", "proximal.ProximalNadam"])
def test_classes_that_are_made_are_attributes_of_their_module(name):
    module, name = name.split(".")
    module = importlib.import_module(f"kerascompact.optimizers.{module}")
    kind = getattr(module, name)
    assert kind.__module__ == module.__name__ and issubclass(kind, keras.optimizers.Nadam)
    assert name not in vars(module)  # by `__getattr__` of the module
    with pytest.raises(AttributeError, match=f"'{module.__name__}' has no attribute 'LazyNone'"):
        _ = module.LazyNone


def test_a_derived_class_keeps_what_it_overrides():
    class Halved(keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(gradient, variable, learning_rate / 2)

    found, _ = run(lazy(Halved(0.2)), [1, 4, 1])
    np.testing.assert_allclose(found, run(LazySGD(0.1), [1, 4, 1])[0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["Adafactor", "Lamb", "Muon"])
def test_lazy_refuses_optimizers_that_mix_rows(kind):
    with pytest.raises(ValueError, match=rf"updates every entry by itself.*Received: {kind}\."):
        lazy(getattr(keras.optimizers, kind)())


def test_lazy_refuses_wrappers_and_optimizers_in_use():
    with pytest.raises(ValueError, match=r"Received: LossScaleOptimizer.*go around lazy"):
        lazy(keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam()))
    used = keras.optimizers.Adam()
    used.build([keras.Variable(start())])
    with pytest.raises(ValueError, match="`optimizer` must be new.*Received: 'adam"):
        lazy(used)
