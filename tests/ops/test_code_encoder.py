"""The encoder against its equations, one vector at a time."""

import numpy as np
import tensorflow as tf

from kerascompact.ops.code_encoder import code_logits, hidden_units

RANDOM = np.random.default_rng(0)
KERNELS = RANDOM.normal(size=(4, 5)), RANDOM.normal(size=(5, 6))
BIASES = RANDOM.normal(size=5), RANDOM.normal(size=6)
FLOATS = (
    tuple(tf.constant(k, tf.float32) for k in KERNELS),
    tuple(tf.constant(b, tf.float32) for b in BIASES),
)


def by_hand(vector):
    hidden = [np.tanh(vector @ KERNELS[0][:, u] + BIASES[0][u]) for u in range(5)]
    inner = [np.dot(hidden, KERNELS[1][:, p]) + BIASES[1][p] for p in range(6)]
    alpha = [np.log1p(np.exp(x)) for x in inner]
    return [[np.log(alpha[3 * m + k] + 1e-8) for k in range(3)] for m in range(2)]


def test_equals_the_papers_equations():
    vectors = RANDOM.normal(size=(7, 4))
    found = code_logits(tf.constant(vectors, tf.float32), *FLOATS, cardinality=3)
    # float32 against float64: exponentials and logarithms of numbers below 10
    np.testing.assert_allclose(found, [by_hand(v) for v in vectors], atol=2e-6, rtol=2e-6)


def test_logits_and_gradients_stay_finite_far_out():
    biases = (FLOATS[1][0], tf.constant([-1e4, -200.0, 0.0, 200.0, 1e4, 1e30]))
    vectors = tf.constant(RANDOM.normal(size=(3, 4)), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(vectors)
        logits = code_logits(vectors, FLOATS[0], biases, cardinality=3)
    assert np.isfinite(logits).all()
    assert np.isfinite(tape.gradient(logits, vectors)).all()
    np.testing.assert_allclose(logits[:, 0, 0], np.log(1e-8), rtol=1e-6)


def test_hidden_units_of_the_papers_sizes():
    assert [hidden_units(k, m) for k, m in ((8, 64), (32, 16), (8, 8))] == [256, 256, 32]
    assert hidden_units(3, 3) == 4 and hidden_units(1, 1) == 1
