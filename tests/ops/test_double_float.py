"""Sums of a million small numbers against float64, outside graphs, in them and under XLA."""

import math

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.double_float import add, difference

HOW = {
    "eager": lambda function: function,
    "graph": tf.function,
    "xla": lambda function: tf.function(function, jit_compile=True, autograph=False),
}


def pairs_of(values):
    high = np.asarray(values, np.float32)
    return np.stack([high, (values - high).astype(np.float32)], axis=-1)


def value(pair):
    return np.sum(np.asarray(pair, np.float64), axis=-1)


@pytest.mark.parametrize("how", HOW)
def test_every_compiler_keeps_the_low_half(how):
    """Algebra would make it 0: `b - ((a + b) - a)`."""
    random = np.random.default_rng(0)
    numbers = random.normal(size=1000) * 10.0 ** random.integers(-6, 6, 1000)
    x = (random.normal(size=1000) * 10.0 ** random.integers(-9, 6, 1000)).astype(np.float32)
    pairs = pairs_of(numbers)
    found = HOW[how](add)(tf.constant(pairs), tf.constant(x)).numpy()
    exact = value(pairs) + x.astype(np.float64)
    # the low halves are added in float32: half a unit of 2^-24 of what is below 2^-24 of the sum
    room = 2.0**-47 * np.maximum(np.abs(numbers), np.abs(x))
    assert (np.abs(value(found) - exact) <= room).all()
    np.testing.assert_array_equal(found[:, 0], value(found).astype(np.float32))
    below = HOW[how](difference)(tf.constant(found), tf.constant(pairs)).numpy()
    np.testing.assert_allclose(below, value(found) - value(pairs), rtol=2.0**-23, atol=room.max())


def steps(count):
    """Rates that fall to a thousandth, times a penalty: what a long training adds up."""
    return (0.01 * 1e-5 * 10.0 ** (-3 * np.arange(count) / count)).astype(np.float32)


def test_a_million_small_steps_equal_float64():
    """Of the total, and of what is owed since the last step, the last thousand and half of them."""
    count, amounts = 1_000_000, steps(1_000_000)
    looks = tf.constant([1, count // 2, count - 1000, count - 1, count])

    @tf.function(jit_compile=True, autograph=False)
    def run():
        every = tf.constant(amounts)

        def step(i, total, seen):
            total = add(total, every[i])
            return i + 1, total, tf.where((looks == i + 1)[:, None], total, seen)

        start = (tf.constant(0), tf.constant([40.0, 0.0]), tf.zeros((5, 2)))
        return tf.while_loop(lambda i, *_: i < count, step, start)

    _, total, seen = run()
    exact = 40.0 + np.cumsum(amounts, dtype=np.float64)[np.array(looks) - 1]
    # float64 itself is off by 2^-53 of 40 for each step; pairs by 2^-48 at most
    np.testing.assert_allclose(value(seen), exact, rtol=0, atol=1e-9)
    owed = difference(total, seen[:4]).numpy()
    for found, since in zip(owed, np.array(looks)[:4], strict=True):
        expected = math.fsum(amounts[since:].astype(np.float64))
        assert found == pytest.approx(expected, rel=1e-3 if since == count - 1 else 1e-5)
    alone = np.float32(40.0)
    assert alone + amounts[0] == alone  # float32 by itself would never move
