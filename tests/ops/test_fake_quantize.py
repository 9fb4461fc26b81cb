"""Codes against the nearest of all values, and what the gradient does."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.fake_quantize import dequantize, fake_quantize, quantize, step_size

ROWS = np.random.default_rng(0).normal(size=(9, 7)).astype(np.float32)


def nearest(x, limit, bits):
    """The nearest of the 2^b numbers evenly from -limit to limit."""
    values = np.linspace(-limit, limit, 2**bits)
    return values[np.abs(x[..., None] - values).argmin(-1)]


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("limit", [0.3, 1.0, 5.0])
def test_gives_the_nearest_value(bits, limit):
    found = fake_quantize(tf.constant(ROWS), tf.constant(limit), bits)
    # float32 against float64, of numbers up to `limit`
    np.testing.assert_allclose(found, nearest(ROWS, limit, bits), atol=1e-6 * limit)
    codes = quantize(tf.constant(ROWS), tf.constant(limit), bits).numpy()
    assert set(codes.ravel()) <= set(range(2**bits))
    again = float(step_size(tf.constant(limit), bits)) * (codes - (2**bits - 1) / 2)
    np.testing.assert_array_equal(again.astype(np.float32), found)
    np.testing.assert_array_equal(dequantize(tf.constant(codes), tf.constant(limit), bits), found)


@pytest.mark.parametrize("bits", range(1, 9))
def test_a_graph_rounds_as_eager_code_does(bits):
    """A graph may join a product and a quotient, which would move numbers between two codes."""
    rows = np.random.default_rng(1).normal(size=(500, 60)).astype(np.float32)
    limit = tf.reduce_max(tf.abs(rows), axis=-1, keepdims=True)
    expected = fake_quantize(rows, limit, bits)
    for compiled in (False, True):
        found = tf.function(lambda x, most: fake_quantize(x, most, bits), jit_compile=compiled)
        np.testing.assert_array_equal(found(rows, limit), expected)


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_values_are_stable(bits):
    """Quantizing what has been quantized changes no code."""
    limit = tf.constant(1.3)
    once = quantize(tf.constant(ROWS), limit, bits)
    np.testing.assert_array_equal(quantize(dequantize(once, limit, bits), limit, bits), once)


def test_a_limit_per_row_meets_the_largest_entries_exactly():
    limit = tf.reduce_max(tf.abs(ROWS), axis=-1, keepdims=True)
    found = fake_quantize(tf.constant(ROWS), limit, 5).numpy()
    place = np.abs(ROWS).argmax(axis=1)
    rows = np.arange(len(ROWS))
    np.testing.assert_allclose(found[rows, place], ROWS[rows, place], rtol=1e-6)
    assert np.abs(found - ROWS).max() <= 0.5001 * float(tf.reduce_max(step_size(limit, 5)))


@pytest.mark.parametrize("limit", [tf.constant(0.0), tf.zeros((9, 1))])
def test_no_range_gives_zeros(limit):
    np.testing.assert_array_equal(fake_quantize(tf.zeros((9, 7)), limit, 3), np.zeros((9, 7)))


@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradient_is_that_of_the_identity_within_the_limit(jit_compile):
    weights = np.random.default_rng(1).normal(size=ROWS.shape).astype(np.float32)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def gradients(rows, limit):
        with tf.GradientTape() as tape:
            tape.watch([rows, limit])
            loss = tf.reduce_sum(weights * fake_quantize(rows, limit, 4))
        return tape.gradient(loss, rows)

    found = gradients(tf.constant(ROWS), tf.constant(0.8))
    np.testing.assert_array_equal(found, np.where(np.abs(ROWS) <= 0.8, weights, 0))
