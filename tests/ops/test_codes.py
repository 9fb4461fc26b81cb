import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.codes import chosen_rows, code_entropy, largest, relaxed_one_hot


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def softmax(x):
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def test_forward_is_the_code_and_backward_the_softmax():
    pi, vectors, tau = numbers(5, 3, 4), numbers(3, 4, seed=1), 0.7
    logits = tf.constant(pi)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        one_hot, soft = relaxed_one_hot(logits, tau)
        loss = tf.reduce_sum(one_hot * vectors)
    np.testing.assert_array_equal(one_hot, np.eye(4, dtype=np.float32)[pi.argmax(axis=-1)])
    o = softmax(pi.astype(np.float64) / tau)
    np.testing.assert_allclose(soft, o, atol=1e-6)  # float32 exponentials
    # d/dpi of sum_k w_k softmax(pi / tau)_k, by hand
    expected = o * (vectors - (o * vectors).sum(axis=-1, keepdims=True)) / tau
    np.testing.assert_allclose(tape.gradient(loss, logits), expected, atol=1e-6)


def test_relaxed_codes_approach_one_hot_codes_as_the_temperature_falls():
    pi = numbers(6, 2, 5)
    hard = np.eye(5)[pi.argmax(axis=-1)]
    gaps = [
        np.abs(relaxed_one_hot(pi, tau, straight_through=False)[0] - hard).max()
        for tau in (1.0, 0.1, 1e-3)
    ]
    assert gaps[0] > gaps[1] > gaps[2] and gaps[2] < 1e-6


def test_entropy_is_a_mean_over_ids_by_weight_and_over_positions():
    o = softmax(numbers(3, 2, 4).astype(np.float64))
    of_id = -(o * np.log(o)).sum(axis=-1).mean(axis=-1)
    expected = (of_id * [1, 5, 2]).sum() / 8
    found = code_entropy(tf.constant(o, tf.float32), tf.constant([1.0, 5.0, 2.0]))
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_entropy_of_decided_codes_is_zero_and_so_is_its_gradient():
    soft = tf.constant([[[1.0, 0.0, 0.0]]])
    with tf.GradientTape() as tape:
        tape.watch(soft)
        entropy = code_entropy(soft, tf.ones(1))
    assert float(entropy) == 0.0
    assert np.isfinite(tape.gradient(entropy, soft)).all()


@pytest.mark.few(2)
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_chosen_rows_are_products_with_one_hot_codes(shared, jit_compile):
    pi, books = numbers(3, 6, 4), numbers(1 if shared else 3, 4, 2, seed=1)
    upstream, tau = numbers(3, 6, 2, seed=2), 0.7

    def products(logits, codebooks, tau):
        return tf.matmul(relaxed_one_hot(logits, tau)[0], codebooks)

    def gradients(function, jit_compile=False):
        @tf.function(jit_compile=jit_compile, autograph=False)
        def run(*inputs):
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                rows = function(*inputs, tau)
            return rows, *tape.gradient(rows, inputs, upstream)

        return run(tf.constant(pi), tf.constant(books))

    ours = gradients(chosen_rows, jit_compile)
    for found, expected in zip(ours, gradients(products), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)  # sums in another order


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_diverges_is_seen(bad):
    logits = np.array([[[0.0, bad], [1.0, 0.0]]], np.float32)
    found = chosen_rows(tf.constant(logits), tf.ones((1, 2, 3)), 1.0).numpy()
    assert np.isnan(found[0, 0]).all() and (found[0, 1] == 1).all()
    assert np.isnan(relaxed_one_hot(tf.constant(logits), 1.0)[0].numpy()[0, 0]).all()


@pytest.mark.parametrize("jit_compile", [False, True])
def test_largest_is_argmax_with_ties_to_the_first(jit_compile):
    logits = np.random.default_rng(0).integers(0, 3, (50, 4, 5)).astype(np.float32)
    found = tf.function(largest, jit_compile=jit_compile, autograph=False)(tf.constant(logits))
    np.testing.assert_array_equal(found, logits.argmax(axis=-1))
