import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.codes import relaxed_one_hot
from kerascompact.ops.gumbel import gumbel_softmax
from kerascompact.ops.straight_through import straight_through_estimate


@pytest.mark.parametrize("jit_compile", [False, True])
def test_value_of_one_and_gradient_of_the_other(jit_compile):
    """Over 40 orders of magnitude `value` comes back to the last bit, under XLA as well."""
    random = np.random.default_rng(0)
    value, relaxed = random.normal(size=(2, 1000)) * 10.0 ** random.integers(-20, 20, (2, 1000))
    upstream = tf.constant(random.normal(size=1000), tf.float32)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def run(value, relaxed):
        with tf.GradientTape() as tape:
            tape.watch((value, relaxed))
            found = straight_through_estimate(value, relaxed)
            loss = tf.reduce_sum(found * upstream)
        return found, tape.gradient(loss, (value, relaxed), unconnected_gradients="zero")

    value = tf.constant(value, tf.float32)
    found, (of_value, of_relaxed) = run(value, tf.constant(relaxed, tf.float32))
    np.testing.assert_array_equal(found, value)
    np.testing.assert_array_equal(of_value, np.zeros(1000))
    np.testing.assert_array_equal(of_relaxed, upstream)


def test_codes_and_gumbel_samples_go_through_it_and_show_a_training_that_diverged():
    logits = tf.constant([[0.5, float("nan"), 2.0]])
    for found in (relaxed_one_hot(logits, 1.0)[0], gumbel_softmax(logits, 1.0, 0, True)):
        assert np.isnan(found).any()
