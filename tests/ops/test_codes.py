import numpy as np
import tensorflow as tf

from kerascompact.ops.codes import code_entropy, relaxed_one_hot


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
