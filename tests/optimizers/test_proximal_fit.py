"""Proximal steps in `fit`: zeros, XLA, saving, averages, loss scaling, replicas."""

import functools
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import compress, layers
from kerascompact.layers import AnchorTransformEmbedding, GroupLassoEmbedding
from kerascompact.optimizers import LazyAdam, Proximal, lazy
from kerascompact.optimizers.pending import caught_up, pending_of
from proximal_steps import (
    IDS,
    LABELS,
    ROWS,
    STRENGTH,
    WIDTH,
    batches,
    built,
    classifier,
    fitted,
    start,
    sums,
    train,
)


@pytest.mark.slow
def test_subgradient_gives_no_zeros_and_the_proximal_step_does():
    """Point 2 of section 4.3: "the subgradient of l1 ... does not yield sparsity"."""
    proximal = fitted(Proximal(keras.optimizers.Adam(0.1)), epochs=20, strength=0.05)
    keras.utils.set_random_seed(3)
    embedding = keras.layers.Embedding(
        ROWS, WIDTH, "random_normal", embeddings_regularizer=keras.regularizers.L1(0.05)
    )
    model = keras.Sequential([embedding, keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.1), "mse", jit_compile=False)
    model.fit(IDS, LABELS, batch_size=12, epochs=20, shuffle=False, verbose=0)
    assert np.mean(embedding.embeddings.numpy() == 0) == 0
    assert np.mean(proximal.layers[0].table.numpy() == 0) > 0.2


@functools.cache
def fitted_plain():
    return fitted(Proximal(keras.optimizers.SGD(0.1)))


def test_fit_ends_with_everything_paid():
    table = fitted_plain().layers[0].table
    pending = pending_of(table)
    np.testing.assert_array_equal(pending.last, np.tile(pending.total, (ROWS, 1)))
    np.testing.assert_array_equal(caught_up(table), table)


@pytest.mark.slow
def test_jit_compile_changes_nothing():
    """Of the adaptive metric, as in `test_proximal`; `test_loss_scaling` has the plain one."""
    optimizers = [Proximal(keras.optimizers.Adam(0.05), "adaptive") for _ in range(2)]
    plain, compiled = (
        fitted(optimizer, jit_compile, strength=0.02).get_weights()
        for optimizer, jit_compile in zip(optimizers, [False, True], strict=True)
    )
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)  # sums in another order


@pytest.mark.parametrize("eager", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_adaptive_is_exact_whenever_the_optimizer_is_built(eager):
    """Built within the first step, it settles every row each time; built before, it is lazy."""
    tables = []
    for before in (False, True):
        layer, optimizer = built("free", 0.02), Proximal("adam", "adaptive")
        train(optimizer, layer, ids_of_steps=batches(4), eager=eager, build=before)
        tables.append(caught_up(layer.table).numpy())
        assert optimizer._settles_each_step is not (before or eager)
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("metric", ["plain", "adaptive"])
def test_a_model_saved_while_rows_owe_goes_on_where_it_was(tmp_path, metric):
    model = classifier(strength=0.02)
    model.compile(Proximal("adam", metric), "mse", run_eagerly=True)
    model.optimizer.build(model.trainable_variables)
    batch = [(IDS[i : i + 1], LABELS[i : i + 1]) for i in (0, 5, 1)]
    model.train_on_batch(*batch[0])
    model.train_on_batch(*batch[1])
    pending = pending_of(model.layers[0].table)
    assert (sums(pending.last) < sums(pending.total)).any()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is type(model.optimizer)
    assert loaded.optimizer.metric == metric
    np.testing.assert_array_equal(loaded(IDS), model(IDS))
    for one in (model, loaded):
        one.train_on_batch(*batch[2])
    for old, new in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_file_holds_what_rows_owe_to_an_optimizer_that_is_gone(tmp_path):
    def made():
        table = AnchorTransformEmbedding(ROWS, WIDTH, num_anchors=4, l1_weight=0.02)
        ids = keras.Input((5,), dtype="int32")
        return keras.Model(ids, keras.layers.Dense(1)(keras.layers.Flatten()(table(ids))))

    model, other = made(), made()
    model.compile(Proximal("adam", "adaptive"), "mse", run_eagerly=True)
    model.optimizer.build(model.trainable_variables)
    for i in (0, 5):
        model.train_on_batch(IDS[i : i + 1], LABELS[i : i + 1])
    model.layers[1].trainable = False
    model.compile("adam", "mse")
    wanted = model(IDS)
    model.save_weights(tmp_path / "model.weights.h5")
    model.save(tmp_path / "model.keras")
    other.load_weights(tmp_path / "model.weights.h5")
    for loaded in (model, other, keras.models.load_model(tmp_path / "model.keras")):
        np.testing.assert_allclose(loaded(IDS), wanted, atol=1e-7)


def test_weights_alone_hold_what_rows_owe(tmp_path):
    layer, other = built(), built()
    train(Proximal("adam"), layer, ids_of_steps=batches(4), eager=True)
    other.set_weights(layer.get_weights())
    np.testing.assert_array_equal(caught_up(other.table), caught_up(layer.table))
    restored = built()  # by TensorFlow's own checkpoint, which follows attributes
    path = tf.train.Checkpoint(layer).save(tmp_path / "step")
    tf.train.Checkpoint(restored).restore(path).assert_consumed()
    np.testing.assert_array_equal(caught_up(restored.table), caught_up(layer.table))
    assert (caught_up(other.table).numpy() != other.table.numpy()).any()


def test_an_average_keeps_the_zeros():
    averaged, last = (one().layers[0].table.numpy() for one in (fitted_average, fitted_plain))
    np.testing.assert_array_equal(averaged == 0, last == 0)
    assert (last == 0).any() and np.abs(averaged - last).max() > 1e-3
    again = built()
    overwriting = keras.optimizers.SGD(0.1, use_ema=True, ema_overwrite_frequency=2)
    train(Proximal(overwriting), again, ids_of_steps=batches(4), eager=True)
    assert (again.table.numpy() == 0).any()


@pytest.mark.few(1)
@pytest.mark.parametrize("on_epoch", [False, True])
def test_swapped_averages_have_the_zeros_of_the_latest_weights(on_epoch):
    class Zeros(keras.callbacks.Callback):
        evaluated, trained = [], []

        def zeros(self):
            return self.model.layers[0].table.numpy() == 0

        def on_train_batch_end(self, batch, logs=None):
            self.last = self.zeros()

        def on_test_begin(self, logs=None):
            self.evaluated.append(self.zeros())
            self.trained.append(self.last)

    plain, seen = fitted_average(), Zeros()
    model = classifier()
    model.compile(averaged(), "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)
    callbacks = [keras.callbacks.SwapEMAWeights(swap_on_epoch=on_epoch), seen]
    data = dict(batch_size=12, shuffle=False, validation_data=(IDS, LABELS), verbose=0)
    model.fit(IDS, LABELS, epochs=3, callbacks=callbacks, **data)
    np.testing.assert_array_equal(seen.evaluated, seen.trained)
    table = model.layers[0].table.numpy()
    assert (table == 0).any() and plain.optimizer.use_ema
    # swapped by sums and differences, each rounded
    np.testing.assert_allclose(table, plain.layers[0].table, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(table == 0, plain.layers[0].table.numpy() == 0)


def averaged():
    return Proximal(keras.optimizers.SGD(0.1, use_ema=True))


@functools.cache
def fitted_average():
    return fitted(averaged(), epochs=3)


def test_gradient_accumulation_thresholds_at_updates_only():
    layer = built()
    chosen = Proximal(keras.optimizers.SGD(0.1, gradient_accumulation_steps=4))
    train(chosen, layer, ids_of_steps=batches(8))
    total = sums(pending_of(layer.table).total)
    np.testing.assert_allclose(total, 2 * 0.1 * STRENGTH, rtol=1e-6)


@pytest.mark.parametrize("use_ema", [False, True])
def test_an_accumulated_step_goes_on_from_zero_where_the_start_is_negative(use_ema):
    """As a step on rows does: the lookup has read the start as 0."""
    tables = []
    for steps, size in ((None, 2), (2, 1)):
        layer = AnchorTransformEmbedding(
            2, 2, 2, l1_weight=0.0, anchors=np.eye(2), trainable_anchors=False,
            transform_initializer=keras.initializers.Constant(-0.2),
        )  # fmt: skip
        model = keras.Sequential([keras.Input((1,), dtype="int32"), layer, keras.layers.Flatten()])
        inner = keras.optimizers.SGD(0.25, gradient_accumulation_steps=steps, use_ema=use_ema)
        model.compile(Proximal(inner), "mse")
        model.fit(np.zeros((2, 1)), np.ones((2, 2)), batch_size=size, shuffle=False, verbose=0)
        tables.append(layer.sparse_transform().toarray())
    np.testing.assert_allclose(tables[0][0], 0.25, rtol=1e-6)
    np.testing.assert_allclose(*tables, rtol=1e-6)


@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_loss_scaling(jit_compile):
    optimizer = keras.optimizers.LossScaleOptimizer(Proximal(keras.optimizers.SGD(0.1)))
    scaled = fitted(optimizer, jit_compile)
    for one, other in zip(scaled.get_weights(), fitted_plain().get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_a_factor_of_the_loss_is_taken_off_the_gradient():
    tables = []
    for factor in (1.0, 64.0):
        layer = built()
        optimizer = Proximal(keras.optimizers.SGD(0.1, loss_scale_factor=factor))
        for ids in batches(3):
            gradient = tf.IndexedSlices(
                tf.fill((4, WIDTH), factor), tf.constant(ids), (ROWS, WIDTH)
            )
            optimizer.apply([gradient], [layer.table])
        tables.append(caught_up(layer.table))
    np.testing.assert_allclose(*tables, rtol=1e-5)


@pytest.mark.skipif(
    not hasattr(keras.optimizers, "OptimizerMap"), reason="one optimizer for each layer: Keras 3.15"
)
def test_inside_multi_optimizer():
    optimizers = keras.optimizers.OptimizerMap(
        lazy("sgd"), {".*/table": Proximal(keras.optimizers.Adam(0.1))}
    )
    model = fitted(keras.optimizers.MultiOptimizer(optimizers))
    table = model.layers[0].table
    assert (table.numpy() == 0).any()
    np.testing.assert_array_equal(caught_up(table), table)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "optimizer, jit_compile",
    [
        (lambda: "adam", False),
        (LazyAdam, True),
        (lambda: keras.optimizers.LossScaleOptimizer(lazy("sgd")), False),
    ],
)
def test_other_optimizers_do_not_train_it_silently(optimizer, jit_compile):
    model = classifier()
    before = model.get_weights()
    model.compile(optimizer(), "mse", jit_compile=jit_compile)
    with pytest.raises(ValueError, match=r"table' has a proximal rule.*Proximal\(\"adam\"\)"):
        model.train_on_batch(IDS, LABELS)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.slow  # `test_adaptive_is_exact_whenever_the_optimizer_is_built` has one
@pytest.mark.parametrize("metric", ["plain", "adaptive"])
def test_a_model_that_its_first_batch_builds(metric):
    """The optimizer is built while the first step is traced: the weights have no values yet."""
    layer = GroupLassoEmbedding(9, 2, 0.0) if metric == "plain" else None
    layer = layer or AnchorTransformEmbedding(9, 2, 3, l1_weight=0.01)
    model = keras.Sequential([layer, keras.layers.Flatten()])
    model.compile(Proximal("adam", metric), "mse", jit_compile=False)
    model.fit(np.array([[1, 1]]), np.zeros((1, 4)), verbose=0)
    (pending,) = filter(None, map(pending_of, layer.trainable_variables))
    np.testing.assert_array_equal(pending.last, np.tile(pending.total, (9, 1)))


def test_a_layer_without_a_rule_is_trained_as_by_lazy():
    one, other = built(None), built(None)
    for layer, optimizer in ((one, Proximal("sgd")), (other, lazy("sgd"))):
        train(optimizer, layer, ids_of_steps=batches(3), eager=True)
    np.testing.assert_array_equal(one.table, other.table)
    assert (one.table.numpy() != start()).any()


def test_changing_the_optimizer_pays_what_is_owed_to_the_old_one():
    layer, optimizer = built(strength=0.02), Proximal("adam", "adaptive")
    train(optimizer, layer, ids_of_steps=batches(4), eager=True)
    expected = caught_up(layer.table).numpy()
    Proximal("sgd").build([layer.table])
    np.testing.assert_array_equal(layer.table, expected)


MIRRORED = """
import keras, numpy as np, sys, tensorflow as tf
sys.path[:0] = ["tests"]
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import proximal_steps as here
from kerascompact.optimizers import Proximal, lazy

def fit(strategy, optimizer, rule):
    with strategy.scope():
        model = here.classifier(rule, strength=0.02)
        model.compile(optimizer(), "mse", jit_compile=False)
    model.fit(here.IDS, here.LABELS, batch_size=12, epochs=3, shuffle=False, verbose=0)
    return model.get_weights()

adam = keras.optimizers.Adam
for optimizer, rule in [
    (lambda: Proximal(adam(0.1, use_ema=True)), "free"),
    (lambda: Proximal(adam(0.1, loss_scale_factor=8.0), "adaptive"), "l1"),
    (lambda: keras.optimizers.LossScaleOptimizer(lazy(adam(0.1, weight_decay=0.1))), None),
]:
    one = fit(tf.distribute.get_strategy(), optimizer, rule)
    two = fit(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), optimizer, rule)
    for a, b in zip(one, two):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)
try:
    fit(tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]), adam, "l1")
except ValueError as error:
    assert "has a proximal rule" in str(error)
else:
    raise AssertionError("the guard let it pass")
"""


@pytest.mark.slow
def test_two_replicas_train_as_one():
    # Devices are set up before TensorFlow starts, so in a process of its own.
    run = subprocess.run([sys.executable, "-c", MIRRORED], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-3000:]


def pruned(seed=1):
    """A group lasso beside a plain table, in a functional model."""
    keras.utils.set_random_seed(seed)
    normal = keras.initializers.RandomNormal(stddev=1.0, seed=4)
    ids = keras.Input((4,), dtype="int32")
    lasso = layers.GroupLassoEmbedding(12, 3, 0.5, embeddings_initializer=normal)(ids)
    plain = keras.layers.Embedding(12, 4, embeddings_initializer=normal)(ids)
    joined = keras.layers.Flatten()(keras.layers.Concatenate()([lasso, plain]))
    return keras.Model(ids, keras.layers.Dense(1)(joined))


def test_a_copy_owes_its_own_steps(tmp_path):
    """Training a copy leaves the model alone, and is that of the copy saved and loaded."""
    random = np.random.default_rng(0)
    ids, labels = random.integers(0, 6, (20, 4)), random.normal(size=(20, 1))
    every = np.arange(12).reshape(3, 4)
    model = pruned()
    copy = compress.compress_model(model, compress.ScalarQuantization(8))
    copy.save(tmp_path / "copy.keras")
    loaded = keras.models.load_model(tmp_path / "copy.keras")
    before = [model(every).numpy(), *model.get_weights()]
    for one in (copy, loaded):
        one.compile(Proximal(keras.optimizers.SGD(0.05)), "mse")
        one.fit(ids, labels, batch_size=5, shuffle=False, epochs=3, verbose=0)
    for a, b in zip([model(every).numpy(), *model.get_weights()], before, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(copy(every), loaded(every), atol=1e-6)
    assert np.abs(copy(every) - before[0]).max() > 0.01


def test_a_copy_of_a_model_whose_rows_owe_adaptive_steps_reads_them():
    keras.utils.set_random_seed(1)
    normal, ids = keras.initializers.RandomNormal(stddev=1.0, seed=2), keras.Input((4,), dtype=int)
    options = dict(l1_weight=0.3, nonnegative=False, transform_initializer=normal)
    both = [layers.AnchorTransformEmbedding(12, 4, 5, **options), keras.layers.Embedding(12, 3)]
    model = keras.Model(ids, keras.layers.Concatenate()([one(ids) for one in both]))
    model.compile(Proximal(keras.optimizers.Adam(0.02), "adaptive"), "mse")
    model.optimizer.build(model.trainable_variables)
    for batch in np.random.default_rng(0).integers(0, 9, (3, 4, 4)):
        model.train_on_batch(batch, np.zeros((4, 4, 7)))
    pending = pending_of(both[0].transform)
    assert (sums(pending.last) < sums(pending.total)).any()
    every = np.arange(12).reshape(3, 4)
    before = model(every).numpy()
    copy = compress.compress_model(model, compress.ScalarQuantization(8))
    np.testing.assert_allclose(copy(every)[..., :4], before[..., :4], atol=1e-6)
    np.testing.assert_allclose(model(every), before, atol=1e-6)


def test_what_was_traced_before_the_optimizer_reads_rows_that_owe_nothing():
    random = np.random.default_rng(0)
    ids, labels = random.integers(0, 9, (24, 4)), random.normal(size=(24, 1))
    held = random.integers(0, 12, (16, 4)), random.normal(size=(16, 1))
    losses = []
    for early in (False, True):
        keras.utils.set_random_seed(1)
        normal = keras.initializers.RandomNormal(stddev=1.0, seed=2)
        options = dict(l1_weight=0.3, nonnegative=False, transform_initializer=normal)
        table = layers.AnchorTransformEmbedding(12, 4, 5, **options)
        head = [keras.layers.Flatten(), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((4,), dtype="int32"), table, *head])
        model.compile(Proximal(keras.optimizers.Adam(0.02), "adaptive"), "mse")
        if early:
            model.evaluate(*held, verbose=0)
        model.optimizer.build(model.trainable_variables)
        options = dict(batch_size=4, epochs=3, shuffle=False, verbose=0)
        losses.append(model.fit(ids, labels, validation_data=held, **options).history["val_loss"])
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
