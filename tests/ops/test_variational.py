import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.variational import limited, log_alpha_of, log_uniform_kl, normal_noise


def divergence(log_alpha):
    """`E log|1 + sqrt(alpha) z| - log(alpha) / 2` by sums, less its limit for large alpha."""
    z = np.linspace(-9, 9, 1_800_001)
    density = np.exp(-np.square(z) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])

    def at(log_alpha):
        inside = np.abs(1 + np.exp(log_alpha / 2) * z)
        return np.sum(density * np.log(np.maximum(inside, 1e-12))) - log_alpha / 2

    return at(log_alpha) - at(60.0)


@pytest.mark.parametrize("log_alpha", [-8.0, -3.0, -1.0, 0.0, 1.0, 3.0, 8.0])
def test_is_near_the_divergence(log_alpha):
    found = float(log_uniform_kl(tf.constant(log_alpha)))
    # the authors fitted a curve, and give 0.009 as its largest error
    assert found == pytest.approx(divergence(log_alpha), abs=0.009)


def test_falls_and_stays_above_zero():
    found = log_uniform_kl(tf.linspace(-10.0, 10.0, 201)).numpy()
    assert np.all(np.diff(found) <= 1e-7) and found.min() >= 0


def test_log_alpha_is_noise_to_signal():
    mean, log_variance = np.array([2.0, -0.5, 0.0]), np.array([-1.0, -3.0, -30.0])
    expected = np.log(np.exp(log_variance[:2]) / mean[:2] ** 2)
    found = log_alpha_of(tf.constant(mean), tf.constant(log_variance))
    np.testing.assert_allclose(found[:2], expected, rtol=1e-6)  # 1e-8 is added to the square
    assert float(found[2]) == -10
    assert limited(tf.constant([-20.0, 20.0])).numpy().tolist() == [-10, 10]


def test_noise_is_normal():
    draw = normal_noise((200_000,), seed=1).numpy()
    # four standard errors of each moment
    assert abs(draw.mean()) < 4 / 447 and abs(draw.std() - 1) < 4 / 632
    assert abs(np.mean(draw**4) - 3) < 4 * np.sqrt(96) / 447
    np.testing.assert_array_equal(draw, normal_noise((200_000,), seed=1))
    compiled = tf.function(lambda: normal_noise((64,), 1), jit_compile=True, autograph=False)()
    # sine and logarithm of XLA are rounded elsewhere
    np.testing.assert_allclose(compiled, normal_noise((64,), 1), atol=1e-5)
