"""Proximal steps against NumPy that takes them on the whole table at every step."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import lazy_steps
from kerascompact.optimizers import (
    GroupRule,
    L1Rule,
    LazyAdam,
    Proximal,
    catch_up,
    caught_up,
    caught_up_rows,
    lazy,
    proximal_rule,
    rules,
)
from kerascompact.optimizers.pending import pending_of
from kerascompact.optimizers.proximal import ProximalStep

ROWS, WIDTH, RATE, STRENGTH = 8, 3, 0.1, 0.4
# tens of float32 operations on numbers near 1, some divided by small ones, against float64
CLOSE = dict(rtol=1e-4, atol=1e-5)
FREE = np.array([[0, 1], [3, 0], [3, 2], [7, 1], [3, 0]])


def start():
    table = np.random.default_rng(5).normal(size=(ROWS, WIDTH)).astype(np.float32)
    table[6] *= 0.2  # the row that never comes ends at zero
    return table


def batches(count=12):
    """Ids with repeats; row 7 comes once, row 6 never, most are away for some steps."""
    random = np.random.default_rng(1)
    ids = [random.integers(0, 6, 4) for _ in range(count)]
    ids[count // 2][0] = 7
    return ids


@keras.saving.register_keras_serializable(package="tests")
class Rows(keras.layers.Layer):
    """A table with a rule, looked up."""

    def __init__(self, rule="l1", strength=STRENGTH, rows=ROWS, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.rule, self.strength, self.rows = rule, strength, rows

    def build(self, input_shape=None):
        self.table = self.add_weight((self.rows, WIDTH), "random_normal", name="table")
        rules = {
            "l1": lambda: L1Rule(self.strength),
            "nonnegative": lambda: L1Rule(self.strength, nonnegative=True),
            "free": lambda: L1Rule(self.strength, unpenalised=FREE),
            "group": lambda: GroupRule(self.strength),
        }
        if self.rule:
            proximal_rule(self, self.table, rules[self.rule]())

    def call(self, ids):
        return caught_up_rows(self.table, ids)

    def get_config(self):
        own = {"rule": self.rule, "strength": self.strength, "rows": self.rows}
        return {**super().get_config(), **own}


def built(rule="l1", strength=STRENGTH):
    layer = Rows(rule, strength)
    layer.build()
    layer.table.assign(np.abs(start()) if rule == "nonnegative" else start())
    return layer


TARGETS = np.random.default_rng(2).normal(size=(ROWS, WIDTH)).astype(np.float32)


def train(optimizer, layer, dense=False, ids_of_steps=None, jit_compile=False):
    """Moves looked-up rows towards targets, so that the gradient depends on what was read."""
    optimizer.build(layer.trainable_variables)

    def step(ids):
        with tf.GradientTape() as tape:
            if dense:
                counts = tf.math.bincount(ids, minlength=ROWS, dtype=tf.float32)[:, None]
                loss = tf.reduce_sum(counts * (caught_up(layer.table) - TARGETS) ** 2)
            else:
                loss = tf.reduce_sum((layer(ids) - tf.gather(TARGETS, ids)) ** 2)
        gradient = tape.gradient(loss, layer.table.value)
        assert isinstance(gradient, tf.IndexedSlices) is not dense
        optimizer.apply([gradient], [layer.table])

    compiled = tf.function(step, jit_compile=jit_compile)
    for ids in ids_of_steps or batches():
        compiled(tf.constant(ids, tf.int32))


def reference(table, ids_of_steps=None, every_row=False):
    for ids in ids_of_steps or batches():
        grad = np.zeros_like(table.x)
        np.add.at(grad, ids, 2 * (table.x[ids] - TARGETS[ids]))
        table.step(grad, np.arange(ROWS) if every_row else np.unique(ids))
    return table.x


def free_soft(x, t):
    out = lazy_steps.soft(x, t)
    out[FREE[:, 0], FREE[:, 1]] = x[FREE[:, 0], FREE[:, 1]]
    return out


PROX = {
    "l1": lazy_steps.soft,
    "nonnegative": lazy_steps.nonnegative,
    "free": free_soft,
    "group": lazy_steps.group,
}
OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(RATE),
    "momentum": lambda: keras.optimizers.SGD(RATE, momentum=0.9),
    "adam": lambda: keras.optimizers.Adam(RATE),
    "adagrad": lambda: keras.optimizers.Adagrad(RATE),
    "rmsprop": lambda: keras.optimizers.RMSprop(RATE),
}
PAPERS = {
    "sgd": lazy_steps.GradientDescent,
    "momentum": lazy_steps.Momentum,
    "adam": lazy_steps.Adam,
    "adagrad": lazy_steps.Adagrad,
    "rmsprop": lazy_steps.RMSprop,
}


@pytest.mark.parametrize("rule", PROX)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_that_were_away_end_where_the_dense_step_puts_them(name, rule):
    layer = built(rule)
    paper = PAPERS[name](layer.table.numpy(), RATE, STRENGTH, PROX[rule])
    train(Proximal(OPTIMIZERS[name]()), layer)
    expected = reference(paper)
    np.testing.assert_allclose(caught_up(layer.table), expected, **CLOSE)
    np.testing.assert_array_equal(caught_up(layer.table).numpy() == 0, expected == 0)
    assert (layer.table.numpy() != caught_up(layer.table).numpy()).any()  # some owed something
    catch_up(layer)
    np.testing.assert_allclose(layer.table, expected, **CLOSE)
    np.testing.assert_array_equal(layer.table, caught_up(layer.table))  # paid once
    assert 0 < (expected == 0).mean() < 1


@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("name", ["adam", "adagrad", "rmsprop"])
def test_adaptive_metric_equals_the_dense_step(name, jit_compile):
    layer = built("free", 0.02)
    train(Proximal(OPTIMIZERS[name](), "adaptive"), layer, jit_compile=jit_compile)
    expected = reference(PAPERS[name](start(), RATE, 0.02, free_soft, adaptive=True))
    np.testing.assert_allclose(caught_up(layer.table), expected, **CLOSE)
    np.testing.assert_array_equal(caught_up(layer.table).numpy() == 0, expected == 0)


def test_the_two_metrics_differ():
    plain, adaptive = built(strength=0.02), built(strength=0.02)
    train(Proximal("adam"), plain)
    train(Proximal("adam", "adaptive"), adaptive)
    assert np.abs(caught_up(plain.table) - caught_up(adaptive.table)).max() > 0.01


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_a_dense_gradient_updates_and_thresholds_every_row(name):
    layer = built()
    train(Proximal(OPTIMIZERS[name]()), layer, dense=True)
    expected = reference(PAPERS[name](start(), RATE, STRENGTH, lazy_steps.soft), every_row=True)
    np.testing.assert_allclose(layer.table, expected, **CLOSE)


def test_rows_and_whole_tables_may_alternate():
    """A row pays its debts before a dense gradient meets it."""
    layer, optimizer = built(), Proximal(OPTIMIZERS["sgd"]())
    table = lazy_steps.GradientDescent(start(), RATE, STRENGTH, lazy_steps.soft)
    for dense in (False, True, False, True):
        train(optimizer, layer, dense=dense, ids_of_steps=batches(4))
        expected = reference(table, batches(4), every_row=dense)
    np.testing.assert_allclose(caught_up(layer.table), expected, **CLOSE)


KINDS = {
    "SGD": {"momentum": 0.9, "nesterov": True},
    "Adam": {"amsgrad": True},
    "AdamW": {},
    "Nadam": {},
    "Adamax": {},
    "Adagrad": {},
    "Adadelta": {},
    "RMSprop": {"centered": True, "momentum": 0.5},
    "Lion": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_equals_keras_and_then_the_threshold_when_every_row_is_touched(kind):
    make = getattr(keras.optimizers, kind)
    layer = built()
    every = [np.arange(ROWS)[::-1]] * 3
    train(Proximal(make(RATE, **KINDS[kind])), layer, ids_of_steps=every)
    variable, optimizer = keras.Variable(start()), make(RATE, **KINDS[kind])
    optimizer.build([variable])
    for _ in every:
        optimizer.apply([2 * (variable.value - TARGETS)], [variable])
        variable.assign(lazy_steps.soft(variable.numpy(), np.float32(RATE * STRENGTH)))
    np.testing.assert_allclose(layer.table, variable, rtol=1e-4, atol=1e-5)


def test_weight_decay_comes_before_the_step_on_touched_rows_only():
    layer = built(strength=0.0)
    train(Proximal(keras.optimizers.SGD(RATE, weight_decay=0.5)), layer, ids_of_steps=[[2, 2]])
    expected = start()
    decayed = expected[2] * (1 - 0.5 * RATE)
    expected[2] = decayed - RATE * 4 * (expected[2] - TARGETS[2])
    np.testing.assert_allclose(layer.table, expected, **CLOSE)


def test_eta_follows_a_schedule_and_a_rate_that_is_set():
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0, 2], [0.1, 0.3, 0.0])
    layer = built()
    train(Proximal(keras.optimizers.SGD(schedule)), layer)
    np.testing.assert_allclose(pending_of(layer.table).total, (0.1 + 2 * 0.3) * STRENGTH, rtol=1e-6)
    model = keras.Sequential([keras.Input((2,), dtype="int32"), Rows()])
    model.compile(Proximal(keras.optimizers.SGD(1.0)), "mse")
    callback = keras.callbacks.LearningRateScheduler(lambda epoch: 0.5 / (epoch + 1))
    model.fit(
        np.array([[1, 2]]), np.zeros((1, 2, WIDTH)), epochs=2, callbacks=[callback], verbose=0
    )
    total = pending_of(model.layers[0].table).total
    np.testing.assert_allclose(total, (0.5 + 0.25) * STRENGTH, rtol=1e-6)


@pytest.mark.parametrize("dense", [False, True], ids=["rows", "dense"])
@pytest.mark.parametrize("jit_compile", [False, True], ids=["graph", "xla"])
def test_lambda_follows_a_schedule_for_rows_away_from_the_batch_too(dense, jit_compile):
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([3, 7], [0.0, 0.2, 0.5])
    layer = built(strength=schedule)
    train(Proximal(keras.optimizers.SGD(RATE)), layer, dense, jit_compile=jit_compile)
    x = start().astype(np.float64)
    for step, ids in enumerate(batches()):
        gradient = np.zeros_like(x)
        np.add.at(gradient, ids, 2 * (x[ids] - TARGETS[ids]))
        x = x - RATE * gradient
        x = lazy_steps.soft(x, RATE * (0.0 if step <= 3 else 0.2 if step <= 7 else 0.5))
    np.testing.assert_allclose(caught_up(layer.table), x, **CLOSE)


def test_a_schedule_of_lambda_is_in_the_config():
    schedule = keras.optimizers.schedules.CosineDecay(0.3, 10)
    for value in (0.25, schedule):
        again = rules.strength_of(rules.strength_to_config(rules.strength_of(value)))
        assert again == value if value == 0.25 else again.get_config() == schedule.get_config()
    with pytest.raises(ValueError, match="`strength` must be a finite number"):
        L1Rule("much")


IDS = np.random.default_rng(0).integers(0, 6, (48, 5))
LABELS = np.random.default_rng(3).normal(size=(48, 1)).astype(np.float32)


def classifier(rule="l1", strength=STRENGTH, **kwargs):
    keras.utils.set_random_seed(3)
    layers = [
        keras.Input((5,), dtype="int32"),
        Rows(rule, strength, **kwargs),
        keras.layers.Flatten(),
        keras.layers.Dense(1),
    ]
    return keras.Sequential(layers)


def fitted(optimizer, jit_compile=False, epochs=3, **kwargs):
    model = classifier(**kwargs)
    model.compile(optimizer, "mse", jit_compile=jit_compile)
    model.fit(IDS, LABELS, batch_size=12, epochs=epochs, shuffle=False, verbose=0)
    return model


def test_subgradient_gives_no_zeros_and_the_proximal_step_does():
    """Point 2 of section 4.3: "the subgradient of l1 ... does not yield sparsity"."""
    proximal = fitted(Proximal(keras.optimizers.Adam(0.1)), epochs=20, strength=0.05)
    keras.utils.set_random_seed(3)
    embedding = keras.layers.Embedding(
        ROWS, WIDTH, "random_normal", embeddings_regularizer=keras.regularizers.L1(0.05)
    )
    model = keras.Sequential([embedding, keras.layers.Flatten(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.1), "mse")
    model.fit(IDS, LABELS, batch_size=12, epochs=20, shuffle=False, verbose=0)
    assert np.mean(embedding.embeddings.numpy() == 0) == 0
    assert np.mean(proximal.layers[0].table.numpy() == 0) > 0.2


def test_fit_ends_with_everything_paid():
    table = fitted(Proximal("adam")).layers[0].table
    pending = pending_of(table)
    np.testing.assert_array_equal(pending.last, np.full(ROWS, pending.total.numpy()))
    np.testing.assert_array_equal(caught_up(table), table)


@pytest.mark.parametrize("metric", ["plain", "adaptive"])
def test_jit_compile_changes_nothing(metric):
    optimizers = [Proximal(keras.optimizers.Adam(0.05), metric) for _ in range(2)]
    plain, compiled = (
        fitted(optimizer, jit_compile, strength=0.02).get_weights()
        for optimizer, jit_compile in zip(optimizers, [False, True], strict=True)
    )
    for one, other in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)  # sums in another order


@pytest.mark.parametrize("eager", [False, True])
def test_adaptive_is_exact_whenever_the_optimizer_is_built(eager):
    """Built within the first step, it settles every row each time; built before, it is lazy."""
    tables = []
    for before in (False, True):
        model = classifier("free", 0.02)
        model.compile(Proximal("adam", "adaptive"), "mse", run_eagerly=eager)
        if before:
            model.optimizer.build(model.trainable_variables)
        for first in range(0, 48, 12):
            model.train_on_batch(IDS[first : first + 12], LABELS[first : first + 12])
        tables.append(caught_up(model.layers[0].table).numpy())
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-6)
    assert model.optimizer._settles_each_step is False


@pytest.mark.parametrize("metric", ["plain", "adaptive"])
def test_a_model_saved_while_rows_owe_goes_on_where_it_was(tmp_path, metric):
    model = classifier(strength=0.02)
    model.compile(Proximal("adam", metric), "mse")
    model.optimizer.build(model.trainable_variables)
    batch = [(IDS[:1], LABELS[:1]), (IDS[5:6], LABELS[5:6]), (IDS[:3], LABELS[:3])]
    model.train_on_batch(*batch[0])
    model.train_on_batch(*batch[1])
    pending = pending_of(model.layers[0].table)
    assert (pending.last.numpy() < pending.total.numpy()).any()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded.optimizer) is type(model.optimizer)
    assert loaded.optimizer.metric == metric
    np.testing.assert_array_equal(loaded.predict(IDS, verbose=0), model.predict(IDS, verbose=0))
    for one in (model, loaded):
        one.train_on_batch(*batch[2])
        one.fit(IDS, LABELS, batch_size=12, shuffle=False, verbose=0)
    for old, new in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_weights_alone_hold_what_rows_owe(tmp_path):
    layer, other = built(), built()
    train(Proximal("adam"), layer)
    other.set_weights(layer.get_weights())
    np.testing.assert_array_equal(caught_up(other.table), caught_up(layer.table))
    assert (caught_up(other.table).numpy() != other.table.numpy()).any()


def test_an_average_keeps_the_zeros():
    model = fitted(Proximal(keras.optimizers.Adam(0.1, use_ema=True)), epochs=6)
    same = fitted(Proximal(keras.optimizers.Adam(0.1)), epochs=6)
    averaged, last = model.layers[0].table.numpy(), same.layers[0].table.numpy()
    np.testing.assert_array_equal(averaged == 0, last == 0)
    assert (last == 0).any() and np.abs(averaged - last).max() > 1e-3
    again = fitted(
        Proximal(keras.optimizers.Adam(0.1, use_ema=True, ema_overwrite_frequency=2)), epochs=6
    )
    assert (again.layers[0].table.numpy() == 0).any()


def test_gradient_accumulation_thresholds_at_updates_only():
    chosen = Proximal(keras.optimizers.SGD(0.1, gradient_accumulation_steps=4))
    model = fitted(chosen, epochs=2)  # 8 batches
    total = pending_of(model.layers[0].table).total
    np.testing.assert_allclose(total, 2 * 0.1 * STRENGTH, rtol=1e-6)


def test_loss_scaling():
    scaled = fitted(keras.optimizers.LossScaleOptimizer(Proximal("adam")), jit_compile=True)
    factor = fitted(Proximal(keras.optimizers.Adam(loss_scale_factor=64.0)))
    plain = fitted(Proximal("adam"))
    for model in (scaled, factor):
        for one, other in zip(model.get_weights(), plain.get_weights(), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_inside_multi_optimizer():
    optimizers = keras.optimizers.OptimizerMap(
        lazy("sgd"), {".*/table": Proximal(keras.optimizers.Adam(0.1))}
    )
    model = fitted(keras.optimizers.MultiOptimizer(optimizers), epochs=8)
    table = model.layers[0].table
    assert (table.numpy() == 0).any()
    np.testing.assert_array_equal(caught_up(table), table)


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
        model.fit(IDS, LABELS, verbose=0)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_layer_without_a_rule_is_trained_as_by_lazy():
    one, other = (fitted(o("adam"), rule=None).get_weights() for o in (Proximal, lazy))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_changing_the_optimizer_pays_what_is_owed_to_the_old_one():
    layer, optimizer = built(strength=0.02), Proximal("adam", "adaptive")
    train(optimizer, layer)
    expected = caught_up(layer.table).numpy()
    Proximal("sgd").build([layer.table])
    np.testing.assert_array_equal(layer.table, expected)


def test_arguments():
    assert isinstance(Proximal(Proximal("adam"), "adaptive"), ProximalStep)
    assert Proximal(Proximal("adam"), "adaptive").metric == "adaptive"
    assert Proximal(LazyAdam(0.5)).get_config()["learning_rate"] == 0.5
    with pytest.raises(ValueError, match="`metric` must be one of 'plain', 'adaptive'"):
        Proximal("adam", "euclid")
    with pytest.raises(ValueError, match="without second moments. Received: .*ProximalSGD"):
        Proximal("sgd", "adaptive")
    with pytest.raises(ValueError, match="does not fit Ftrl"):
        Proximal("ftrl")
    with pytest.raises(ValueError, match="`metric` must be 'plain' for the rule GroupRule"):
        Proximal("adam", "adaptive").build([built("group").table])


MIRRORED = """
import keras, numpy as np, sys, tensorflow as tf
sys.path[:0] = ["tests", "tests/optimizers"]
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
import test_proximal as here
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
