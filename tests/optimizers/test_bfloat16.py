"""Lazy optimizers on a table in bfloat16: each step against the formulas in float64."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.optimizers import LazyAdam, LazySGD, Proximal, lazy
from kerascompact.optimizers.guard import BFloat16Guard
from kerascompact.optimizers.lazy import ELEMENTWISE

V, WIDTH = 6, 256
ROWS = np.array([4, 1, 4])


def table(start=None):
    values = np.random.default_rng(0).normal(size=(V, WIDTH)) if start is None else start
    made = keras.Variable(values, dtype="bfloat16", name="table")
    made.constraint = BFloat16Guard("table")
    return made


def numbers(variable):
    return tf.cast(variable.value, tf.float64).numpy()


def check_rounded(found, expected, slack=0.0):
    """One of the two neighbours of each number up to `slack`, and no drift."""
    unit = 2.0 ** (np.floor(np.log2(np.maximum(np.abs(expected), 1e-38))) - 7)
    error = np.sign(found - expected) * np.maximum(np.abs(found - expected) - slack, 0) / unit
    assert np.abs(error).max() <= 1.01  # float32 may have crossed a neighbour
    if error.size >= 256:
        assert abs(error.mean()) < 0.1  # deviation 0.5 at most, and 512 numbers: 0.022


def adam(w, m, v, g, t, rate, decay=0.0, b1=0.9, b2=0.999):
    """Algorithm 1 with Keras' epsilon, decoupled decay first."""
    w = w - rate * decay * w
    m, v = m + (g - m) * (1 - b1), v + (g * g - v) * (1 - b2)
    return w - rate * np.sqrt(1 - b2**t) / (1 - b1**t) * m / (np.sqrt(v) + 1e-7), m, v


@pytest.mark.parametrize(
    ("dense", "way"),
    [
        (False, "eager"),
        pytest.param(False, "xla", marks=pytest.mark.slow),  # a short one of SGD is below
        pytest.param(True, "graph", marks=pytest.mark.slow),
        pytest.param(False, "graph", marks=pytest.mark.slow),
        pytest.param(True, "eager", marks=pytest.mark.slow),
        pytest.param(True, "xla", marks=pytest.mark.slow),
    ],
)
def test_each_step_is_adams_rounded_at_random(way, dense):
    w, bias = table(), keras.Variable(np.ones(3), dtype="float32")
    optimizer = LazyAdam(0.01, weight_decay=0.1, global_clipnorm=0.5)
    optimizer.build([w, bias])
    m, v = (next(s for s in optimizer.variables if s.name.endswith(n)) for n in SLOTS)
    assert m.dtype == v.dtype == "bfloat16" and m.shape == v.shape == w.shape
    random = np.random.default_rng(1)

    def step(values):
        gradient = tf.cast(values, tf.bfloat16)
        if not dense:
            gradient = tf.IndexedSlices(gradient, tf.constant(ROWS), tf.constant([V, WIDTH]))
        optimizer.apply([gradient, 2 * tf.ones(3)], [w, bias])

    if way != "eager":
        step = tf.function(step, jit_compile=way == "xla", autograph=False)
    for t in range(1, 4):
        values = tf.constant(random.normal(size=(V if dense else 3, WIDTH)), tf.float32)
        g = tf.cast(tf.cast(values, tf.bfloat16), tf.float64).numpy()
        if not dense:
            g = np.stack([np.zeros(WIDTH), g[1], g[0] + g[2]])[[0, 1, 0, 0, 2, 0]]
        g *= 0.5 / np.sqrt(np.sum(g * g) + 12)  # the norm over both gradients
        rows = slice(None) if dense else np.unique(ROWS)
        before = [numbers(one) for one in (w, m, v)]
        step(values)
        expected = adam(*(one[rows] for one in before), g[rows], t, 0.01, 0.1)
        for one, old, new in zip((w, m, v), before, expected, strict=True):
            found = numbers(one)
            check_rounded(found[rows], new)
            others = np.setdiff1d(np.arange(V), np.arange(V)[rows])
            np.testing.assert_array_equal(found[others], old[others])


SLOTS = ("momentum", "velocity")


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", ELEMENTWISE, ids=lambda kind: kind.__name__)
def test_every_optimizer_takes_the_step_that_it_takes_in_float32(kind):
    half, full = table(), keras.Variable(numbers(table()), dtype="float32")
    gradient = tf.cast(tf.random.stateless_normal((3, WIDTH), (0, 1)), tf.bfloat16)
    for variable in (half, full):
        optimizer = lazy(kind(0.01, clipnorm=0.7))
        values = tf.cast(gradient, variable.dtype)
        shape = tf.constant([V, WIDTH])
        optimizer.apply([tf.IndexedSlices(values, tf.constant(ROWS), shape)], [variable])
    # Constants of these are bfloat16: Ftrl's first accumulator 0.1, Nadam's product of momenta.
    slack = 0.004 * (kind in (keras.optimizers.Nadam, keras.optimizers.Ftrl))
    before, after = numbers(table())[[1, 4]], numbers(full)[[1, 4]]
    check_rounded(numbers(half)[[1, 4]], after, slack * np.abs(after - before))


def test_updates_and_decays_that_are_below_a_bit_add_up():
    """Rounded to the nearest, 1 - 1e-4 is 1, and 0.999 v is v."""
    ones = table(np.ones((V, WIDTH)))
    steps(LazySGD(1e-4), tf.ones((V, WIDTH), tf.bfloat16), ones)
    # steps of 2^-8 with probability 0.026: a deviation of 0.009 each, 0.00023 of the mean
    assert abs(numbers(ones).mean() - 0.98) < 0.001
    still = table(np.ones((V, WIDTH)))
    adam = LazyAdam(0.0)
    adam.build([still])
    moment = next(s for s in adam.variables if s.name.endswith("velocity"))
    moment.assign(tf.ones((V, WIDTH)))
    steps(adam, tf.zeros((V, WIDTH), tf.bfloat16), still)
    assert abs(numbers(moment).mean() - 0.999**200) < 0.003
    np.testing.assert_array_equal(numbers(still), 1)


def test_a_step_by_xla_is_sgds_rounded_at_random():
    w, optimizer = table(), LazySGD(0.1)
    optimizer.build([w])
    before = numbers(w)
    values = np.random.default_rng(1).normal(size=(3, WIDTH)).astype(np.float32)

    @tf.function(jit_compile=True, autograph=False)
    def step(values):
        gradient = tf.cast(values, tf.bfloat16)
        optimizer.apply([tf.IndexedSlices(gradient, tf.constant(ROWS), tf.constant([V, WIDTH]))])

    step(tf.constant(values))
    g = tf.cast(tf.cast(values, tf.bfloat16), tf.float64).numpy()
    check_rounded(numbers(w)[[1, 4]], before[[1, 4]] - 0.1 * np.stack([g[1], g[0] + g[2]]))
    np.testing.assert_array_equal(numbers(w)[[0, 2, 3, 5]], before[[0, 2, 3, 5]])


def steps(optimizer, gradient, variable, count=200):
    """The same step many times, traced once."""
    optimizer.build([variable])
    apply = tf.autograph.experimental.do_not_convert(optimizer.apply)  # only the loop

    @tf.function
    def run():
        for _ in tf.range(count):
            apply([gradient], [variable])

    run()


@pytest.mark.parametrize("kind", [keras.optimizers.Adam, keras.optimizers.SGD])
@pytest.mark.parametrize("traced", [False, True])
def test_optimizers_that_compute_in_bfloat16_are_refused(kind, traced):
    variable, optimizer = table(), kind(1.0)
    optimizer.build([variable])
    before = numbers(variable)

    def step():
        optimizer.apply([tf.ones((V, WIDTH), tf.bfloat16)], [variable])

    with pytest.raises(ValueError, match=r"'table' is held in bfloat16.*lazy\(\"adam\"\)"):
        (tf.function(step, autograph=False) if traced else step)()
    if traced:
        np.testing.assert_array_equal(numbers(variable), before)


@pytest.mark.parametrize("make", [LazyAdam, lambda **options: Proximal(LazySGD(**options))])
@pytest.mark.parametrize(("name", "value"), [("use_ema", True), ("gradient_accumulation_steps", 2)])
def test_sums_that_keras_would_hold_in_bfloat16_are_refused(make, name, value):
    with pytest.raises(ValueError, match=rf"`{name}` must be off for variable 'table'"):
        make(**{name: value}).build([table()])
    make(**{name: value}).build([keras.Variable([1.0])])  # others keep these settings


def test_a_scaled_loss_is_scaled_back():
    found = []
    for optimizer, factor in [
        (LazySGD(0.1), 1.0),
        (LazySGD(0.1, loss_scale_factor=64.0), 64.0),
        (keras.optimizers.LossScaleOptimizer(LazySGD(0.1), initial_scale=64.0), 64.0),
        (Proximal(LazySGD(0.1)), 1.0),
    ]:
        variable = table()
        values = factor * tf.ones((3, WIDTH), tf.bfloat16)
        rows = tf.IndexedSlices(values, tf.constant(ROWS), tf.constant([V, WIDTH]))
        optimizer.apply([rows], [variable])
        found.append(numbers(variable))
    for one in found[1:]:
        np.testing.assert_array_equal(found[0], one)
    check_rounded(found[0][4], numbers(table())[4] - 0.2)
