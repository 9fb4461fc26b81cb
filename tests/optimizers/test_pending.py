"""What rows owe: reading, the gradient of reading, paying, and where the rule is attached."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.optimizers import catch_up, pending
from kerascompact.optimizers.guard import ProxGuard
from kerascompact.optimizers.pending import caught_up, caught_up_rows, proximal_rule
from kerascompact.optimizers.rules import GroupRule, L1Rule

START = np.random.default_rng(0).normal(size=(7, 2)).astype(np.float32)
OWED = np.array([0.0, 0.1, 0.2, 0.3, 1.0, 9.0, 0.0])


def table(rule=None):
    layer = keras.layers.Layer()
    variable = layer.add_weight((7, 2), name="table")
    variable.assign(START)
    proximal_rule(layer, variable, rule or L1Rule(0.1))
    owes(variable, 10.0, OWED)
    return layer, variable


def owes(variable, total, owed):
    """Sets the sums of a variable, split into two float32 numbers."""
    state = pending.pending_of(variable)
    for weight, value in ((state.total, np.float64(total)), (state.last, total - owed)):
        high = np.asarray(value, np.float32)
        weight.assign(np.stack([high, value - high], axis=-1))
    return state


EXPECTED = np.sign(START) * np.maximum(np.abs(START) - OWED[:, None], 0)


def test_rows_are_read_as_if_they_had_paid():
    _, variable = table()
    np.testing.assert_allclose(caught_up(variable), EXPECTED, atol=1e-6)
    ids = np.array([[5, 1], [1, 4]])
    np.testing.assert_allclose(caught_up_rows(variable, tf.constant(ids)), EXPECTED[ids], atol=1e-6)
    np.testing.assert_array_equal(variable, START)


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_the_gradient_is_that_of_the_rows_as_read(jit_compile):
    """At a zero, too: it must be able to leave it."""
    _, variable = table()

    @tf.function(jit_compile=jit_compile, autograph=False)
    def gradients():
        with tf.GradientTape(persistent=True) as tape:
            rows = tf.reduce_sum(caught_up_rows(variable, tf.constant([5, 1])) ** 2 * 3 + 1)
            whole = tf.reduce_sum(caught_up(variable) ** 2)
            linear = tf.reduce_sum(caught_up_rows(variable, tf.constant([5])))
        of = [tape.gradient(loss, variable.value) for loss in (rows, whole, linear)]
        return of[0].values, of[1], of[2].values

    rows, whole, linear = gradients()
    np.testing.assert_allclose(rows, 6 * EXPECTED[[5, 1]], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(whole, 2 * EXPECTED, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(linear, np.ones((1, 2)))


@pytest.mark.parametrize("how", ["chunks", "settle", "graph"])
def test_paying_writes_what_was_read_and_only_once(how, monkeypatch):
    monkeypatch.setattr(pending, "CHUNK", 2)
    layer, variable = table()
    expected = caught_up(variable).numpy()
    state = pending.pending_of(variable)
    pay = {
        "chunks": lambda: catch_up(layer),
        "settle": state.settle,
        "graph": tf.function(state.settle, autograph=False),
    }[how]
    for _ in range(2):
        pay()
        np.testing.assert_array_equal(variable, expected)
        np.testing.assert_array_equal(caught_up(variable), expected)
    np.testing.assert_array_equal(state.last, np.tile([10.0, 0.0], (7, 1)))


def test_small_steps_are_not_lost_in_a_large_sum():
    """float32 could not tell 1000 from 1000 + 1e-5."""
    _, variable = table()
    state = owes(variable, 1000.0, np.full(7, 1e-5))
    np.testing.assert_allclose(state.owed(None, None)[:, 0], 1e-5, rtol=1e-6)


def test_variables_without_a_rule_are_read_as_they_are():
    variable = keras.Variable(START)
    np.testing.assert_array_equal(caught_up(variable), START)
    np.testing.assert_array_equal(caught_up_rows(variable, tf.constant([3])), START[[3]])
    catch_up(variable)


def test_the_state_is_weights_of_the_layer():
    layer, variable = table(GroupRule(0.1))
    names = [weight.name for weight in layer.non_trainable_weights]
    assert names == ["table_total", "table_last"]
    assert {weight.dtype for weight in layer.weights} == {"float32"}  # a TPU has no float64
    assert isinstance(variable.constraint, ProxGuard)
    assert variable.constraint.get_config() == {"path": variable.path}
    owned = variable.constraint.pending  # no attribute of ours on Keras' variable
    assert owned is pending.pending_of(variable) and owned.variable is variable


def test_a_constraint_is_not_replaced():
    layer = keras.layers.Layer()
    variable = layer.add_weight((7, 2), constraint="non_neg", name="table")
    with pytest.raises(ValueError, match="'layer.*table' has a constraint"):
        proximal_rule(layer, variable, L1Rule(0.1))
