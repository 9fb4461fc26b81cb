"""Proximal steps against NumPy that takes them on the whole table at every step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import lazy_steps
from kerascompact.optimizers import LazyAdam, Proximal, catch_up, rules
from kerascompact.optimizers.pending import caught_up, pending_of
from kerascompact.optimizers.proximal import ProximalStep
from kerascompact.optimizers.rules import L1Rule
from proximal_steps import (
    CLOSE,
    OPTIMIZERS,
    PAPERS,
    PROX,
    RATE,
    ROWS,
    STRENGTH,
    TARGETS,
    WIDTH,
    Rows,
    batches,
    built,
    free_soft,
    reference,
    start,
    sums,
    train,
)


@pytest.mark.few(3)
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


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("name", "jit_compile"), [("adam", True), ("adagrad", False), ("rmsprop", False)]
)
def test_adaptive_metric_equals_the_dense_step(name, jit_compile):
    layer = built("free", 0.02)
    train(Proximal(OPTIMIZERS[name](), "adaptive"), layer, jit_compile=jit_compile)
    expected = reference(PAPERS[name](start(), RATE, 0.02, free_soft, adaptive=True))
    np.testing.assert_allclose(caught_up(layer.table), expected, **CLOSE)
    np.testing.assert_array_equal(caught_up(layer.table).numpy() == 0, expected == 0)
    plain = reference(PAPERS[name](start(), RATE, 0.02, free_soft))
    assert np.abs(plain - expected).max() > 0.01  # the two metrics differ


@pytest.mark.parametrize("metrics", [("adaptive", "plain"), ("plain", "adaptive")])
def test_optimizers_of_two_metrics_train_one_table_in_turn(metrics):
    layer, x, turns = built("free", 0.02), start(), []
    for name, metric in zip(("adam", "adagrad"), metrics, strict=True):
        optimizer = Proximal(OPTIMIZERS[name](), metric)
        optimizer.build([layer.table])
        paper = PAPERS[name](x, RATE, 0.02, free_soft, adaptive=metric == "adaptive")
        turns.append((optimizer, paper))
    for step, ids in enumerate(batches(8)):
        optimizer, paper = turns[step // 2 % 2]
        train(optimizer, layer, ids_of_steps=[ids], eager=True)
        paper.x = x
        x = reference(paper, [ids])
    np.testing.assert_allclose(caught_up(layer.table), x, **CLOSE)


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
        train(optimizer, layer, dense=dense, ids_of_steps=batches(2), eager=True)
        expected = reference(table, batches(2), every_row=dense)
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


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_keras_and_then_the_threshold_when_every_row_is_touched(kind):
    make = getattr(keras.optimizers, kind)
    layer = built()
    every = [np.arange(ROWS)[::-1]] * 3
    train(Proximal(make(RATE, **KINDS[kind])), layer, ids_of_steps=every, eager=True)
    variable, optimizer = keras.Variable(start()), make(RATE, **KINDS[kind])
    optimizer.build([variable])
    for _ in every:
        optimizer.apply([2 * (variable.value - TARGETS)], [variable])
        variable.assign(lazy_steps.soft(variable.numpy(), np.float32(RATE * STRENGTH)))
    np.testing.assert_allclose(layer.table, variable, rtol=1e-4, atol=1e-5)


def test_weight_decay_comes_before_the_step_on_touched_rows_only():
    layer = built(strength=0.0)
    optimizer = Proximal(keras.optimizers.SGD(RATE, weight_decay=0.5))
    train(optimizer, layer, ids_of_steps=[[2, 2]], eager=True)
    expected = start()
    decayed = expected[2] * (1 - 0.5 * RATE)
    expected[2] = decayed - RATE * 4 * (expected[2] - TARGETS[2])
    np.testing.assert_allclose(layer.table, expected, **CLOSE)


def test_eta_follows_a_schedule_and_a_rate_that_is_set():
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0, 2], [0.1, 0.3, 0.0])
    layer = built()
    train(Proximal(keras.optimizers.SGD(schedule)), layer, ids_of_steps=batches(4), eager=True)
    total = sums(pending_of(layer.table).total)
    np.testing.assert_allclose(total, (0.1 + 2 * 0.3) * STRENGTH, rtol=1e-6)
    model = keras.Sequential([keras.Input((2,), dtype="int32"), Rows()])
    model.compile(Proximal(keras.optimizers.SGD(1.0)), "mse", jit_compile=False)
    model.optimizer.build(model.trainable_variables)  # or the step is traced twice
    for rate in (0.5, 0.25):
        model.optimizer.learning_rate = rate
        model.train_on_batch(np.array([[1, 2]]), np.zeros((1, 2, WIDTH)))
    total = sums(pending_of(model.layers[0].table).total)
    np.testing.assert_allclose(total, (0.5 + 0.25) * STRENGTH, rtol=1e-6)


@pytest.mark.parametrize(
    ("dense", "jit_compile"),
    [(False, False), (True, False), pytest.param(False, True, marks=pytest.mark.slow)],
)
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


def test_a_hundred_thousand_small_steps_under_xla_equal_float64():
    """Of rows that are away all the time, beside a large sum."""
    count, rate, strength = 100_000, 1e-3, 1e-3
    layer, before = built("l1", strength), start()
    optimizer = Proximal(keras.optimizers.SGD(rate))
    optimizer.build([layer.table])
    pending_of(layer.table).total.assign([30.0, 0.0])
    pending_of(layer.table).last.assign(np.tile([30.0, 0.0], (ROWS, 1)))

    apply = tf.autograph.experimental.do_not_convert(optimizer.apply)

    @tf.function(jit_compile=True)
    def run():
        gradient = tf.IndexedSlices(tf.zeros((1, WIDTH)), tf.constant([0]), (ROWS, WIDTH))
        for _ in tf.range(count):
            apply([gradient], [layer.table])

    run()
    owed = count * np.float64(np.float32(rate) * np.float32(strength))
    total = sums(pending_of(layer.table).total)
    np.testing.assert_allclose(total, 30.0 + owed, rtol=0, atol=1e-9)
    # One rounding of numbers near 1; a row that is there is rounded at each of its steps.
    expected = lazy_steps.soft(before.astype(np.float64), owed)
    np.testing.assert_allclose(caught_up(layer.table)[1:], expected[1:], rtol=0, atol=2.0**-23)
    np.testing.assert_array_equal(caught_up(layer.table)[1:] == 0, expected[1:] == 0)


def test_a_schedule_of_lambda_is_in_the_config():
    schedule = keras.optimizers.schedules.CosineDecay(0.3, 10)
    for value in (0.25, schedule):
        again = rules.penalty_weight_of(
            rules.penalty_weight_to_config(rules.penalty_weight_of(value))
        )
        assert again == value if value == 0.25 else again.get_config() == schedule.get_config()
    with pytest.raises(ValueError, match=r"`penalty_weight` must be a finite number >= 0\."):
        L1Rule("much")


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
