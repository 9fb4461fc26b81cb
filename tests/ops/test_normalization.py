import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.normalization import normalized_columns


@pytest.mark.few(2)
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("some", [True, False])
def test_equals_tensorflow_and_its_gradient(some, jit_compile):
    random = np.random.default_rng(0)
    rows, upstream = (random.normal(3.0, 2.0, (4, 6, 5)).astype(np.float32) for _ in range(2))
    weights = random.integers(0, 3, (1, 6, 1)).astype(np.float32) * np.ones((4, 1, 1), np.float32)
    weights *= some
    kept = np.arange(5, dtype=np.float32), np.arange(1, 6, dtype=np.float32)

    def ours(values):
        return normalized_columns(values, weights, kept, 1e-3)

    def theirs(values):
        mean, variance = tf.nn.weighted_moments(values, [0, 1], weights) if some else kept
        normal = tf.nn.batch_normalization(values, mean, variance, None, None, 1e-3)
        return normal, mean, variance

    def gradients(function, jit_compile=False):
        @tf.function(jit_compile=jit_compile, autograph=False)
        def run(values):
            with tf.GradientTape() as tape:
                tape.watch(values)
                found = function(values)
            return *found, tape.gradient(found[0], values, upstream)

        return run(tf.constant(rows))

    for found, expected in zip(gradients(ours, jit_compile), gradients(theirs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)  # float32 sums
