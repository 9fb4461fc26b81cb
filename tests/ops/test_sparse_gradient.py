"""Equation 11: the gradient of a softmax, thresholded before the outer product."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.sparse_gradient import sparse_gradient_product

RANDOM = np.random.default_rng(0)
HIDDEN = RANDOM.normal(size=(4, 3)).astype(np.float32)
TABLE = RANDOM.normal(size=(50, 3)).astype(np.float32)
LABELS = [7, 7, 0, 49]


def gradients(threshold, jit_compile=False):
    table = tf.Variable(TABLE)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def run(hidden):
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            logits = sparse_gradient_product(hidden, table, threshold)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, logits)
            loss = tf.reduce_mean(losses)
        for_hidden, for_table = tape.gradient(loss, [hidden, table])
        return logits, for_hidden, for_table.indices, for_table.values

    return [found.numpy() for found in run(tf.constant(HIDDEN))]


def by_hand(threshold):
    logits = HIDDEN.astype(float) @ TABLE.T
    softmax = np.exp(logits - logits.max(axis=1, keepdims=True))
    upstream = softmax / softmax.sum(axis=1, keepdims=True)
    upstream[range(4), LABELS] -= 1
    upstream /= 4
    bound = threshold * np.abs(upstream).max(axis=1, keepdims=True)
    left = np.sign(upstream) * np.maximum(np.abs(upstream) - bound, 0)
    return logits, upstream @ TABLE, left.T @ HIDDEN


@pytest.mark.few(2)
@pytest.mark.parametrize("threshold", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradients_are_those_of_the_thresholded_logits(threshold, jit_compile):
    logits, for_hidden, ids, rows = gradients(threshold, jit_compile)
    expected_logits, expected_hidden, expected = by_hand(threshold)
    # three float32 products
    np.testing.assert_allclose(logits, expected_logits, atol=1e-6)
    np.testing.assert_allclose(for_hidden, expected_hidden, atol=1e-6)
    found = np.zeros_like(expected)
    found[ids] = rows
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert len(set(ids)) == len(ids)
    assert (len(ids) == 50) if threshold == 0 else (3 <= len(ids) < 40)


def test_what_is_left_does_not_depend_on_the_scale_of_the_loss():
    with tf.GradientTape(persistent=True) as tape:
        table = tf.Variable(TABLE)
        logits = sparse_gradient_product(tf.constant(HIDDEN), table, 0.1)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(LABELS, logits)
        small, large = tf.reduce_mean(losses), 2.0**15 * tf.reduce_mean(losses)
    one, other = tape.gradient(small, table), tape.gradient(large, table)
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_array_equal(one.values * 2.0**15, other.values)  # a power of 2 is exact


def test_a_gradient_of_zeros_has_no_rows():
    table = tf.Variable(TABLE)
    with tf.GradientTape() as tape:
        loss = 0 * tf.reduce_sum(sparse_gradient_product(tf.constant(HIDDEN), table, 0.1))
    assert len(tape.gradient(loss, table).indices) == 0
