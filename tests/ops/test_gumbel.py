"""The relaxation against its formula, and its samples against what theory says of them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import gumbel
from kerascompact.ops.gumbel import gumbel_noise, gumbel_softmax

LOGITS = np.array([[0.5, -1.0, 2.0, 0.0], [3.0, 3.0, -2.0, 1.0]], np.float32)


def formula(logits, noise, temperature):
    """`t_j = exp((a_j + g_j) / tau) / sum_l exp((a_l + g_l) / tau)` in float64."""
    powers = np.exp((logits.astype(np.float64) + noise) / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


@pytest.fixture
def noise(monkeypatch):
    """Noise that the test knows."""
    known = np.random.default_rng(3).gumbel(size=LOGITS.shape)
    monkeypatch.setattr(gumbel, "gumbel_noise", lambda shape, seed: tf.constant(known, tf.float32))
    return known


@pytest.mark.parametrize("temperature", [0.3, 0.9, 5.0])
def test_equals_the_formula(noise, temperature):
    found = gumbel_softmax(LOGITS, temperature, seed=0)
    # float32 exponentials of numbers below 25: relative error of about 25 * 2**-24
    np.testing.assert_allclose(found, formula(LOGITS, noise, temperature), rtol=1e-5, atol=1e-7)


def test_takes_noise_that_has_been_drawn():
    known = np.random.default_rng(4).gumbel(size=LOGITS.shape)
    noise = tf.constant(known, tf.float32)
    for scale in (1.0, 0.3, 0.0):
        found = gumbel_softmax(LOGITS, 0.9, seed=0, noise=noise, noise_scale=scale)
        np.testing.assert_allclose(found, formula(LOGITS, scale * known, 0.9), rtol=1e-5, atol=1e-7)


def test_rows_are_distributions_even_of_half_precision_logits():
    logits = tf.cast(tf.random.normal((7, 3, 50)) * 10, tf.float16)
    found = gumbel_softmax(logits, 0.9, seed=1)
    assert found.dtype == tf.float32 and found.shape == (7, 3, 50)
    assert found.numpy().min() >= 0
    np.testing.assert_allclose(found.numpy().sum(-1), 1, rtol=1e-5)  # 50 float32 terms


def test_low_temperature_gives_the_one_hot_vector_of_the_largest(noise):
    found = gumbel_softmax(LOGITS, 1e-4, seed=0)
    np.testing.assert_array_equal(found, np.eye(4)[np.argmax(LOGITS + noise, axis=-1)])


def test_straight_through_is_one_hot_with_the_gradient_of_the_soft_sample(noise):
    weights = tf.constant(np.random.default_rng(1).normal(size=LOGITS.shape), tf.float32)

    def run(straight_through):
        logits = tf.constant(LOGITS)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            sample = gumbel_softmax(logits, 0.9, 0, straight_through)
            loss = tf.reduce_sum(sample * weights)
        return sample.numpy(), tape.gradient(loss, logits).numpy()

    (hard, gradient), (soft, expected) = run(True), run(False)
    np.testing.assert_array_equal(hard, np.eye(4)[np.argmax(LOGITS + noise, axis=-1)])
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)  # float32 exponentials
    # and that gradient is the formula's: t_j (w_j - sum_l t_l w_l) / tau
    t, w = formula(LOGITS, noise, 0.9), weights.numpy()
    by_hand = t * (w - (t * w).sum(-1, keepdims=True)) / 0.9
    np.testing.assert_allclose(expected, by_hand, rtol=1e-4, atol=1e-6)
    assert np.abs(soft - hard).max() > 0.1


def test_noise_has_the_mean_and_variance_of_gumbel():
    """Mean: Euler's 0.57722; variance: pi^2 / 6.

    Standard errors for n = 200,000: sqrt(1.645 / n) = 0.0029 for the mean, and for the variance
    sqrt((kurtosis - 1) / n) * 1.645 = 0.0077 with Gumbel's kurtosis of 5.4; four of each allowed.
    """
    noise = gumbel_noise((200_000,), seed=5).numpy().astype(np.float64)
    assert abs(noise.mean() - np.euler_gamma) < 4 * 0.0029
    assert abs(noise.var() - np.pi**2 / 6) < 4 * 0.0077
    assert np.isfinite(noise).all()


def test_noise_follows_gumbels_distribution_function():
    """Kolmogorov-Smirnov: sup |F_n - F| is below 1.95 / sqrt(n) in 999 of 1,000 samples."""
    noise = np.sort(gumbel_noise((100_000,), seed=6).numpy())
    theory = np.exp(-np.exp(-noise.astype(np.float64)))
    assert np.abs(theory - (np.arange(100_000) + 0.5) / 100_000).max() < 1.95 / np.sqrt(100_000)


def test_samples_follow_softmax_of_the_logits():
    """With the noise scaled by `s` they follow `softmax(a / s)`, at any temperature.

    Each share has a standard error of sqrt(p (1 - p) / 20,000) <= 0.0036; four are allowed.
    """
    many = np.broadcast_to(LOGITS, (20_000, *LOGITS.shape))
    for straight_through, scale in ((False, 1.0), (True, 1.0), (True, 0.5)):
        sample = gumbel_softmax(many, 0.5, 7, straight_through, noise_scale=scale).numpy()
        shares = np.eye(4)[sample.argmax(-1)].mean(axis=0)
        np.testing.assert_allclose(shares, formula(LOGITS, 0, scale), atol=4 * 0.0036)


def test_an_integer_repeats_and_a_generator_moves_on():
    one, same, other = (gumbel_noise((2, 9), seed).numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.1
    generator = keras.random.SeedGenerator(1)
    first, second = gumbel_noise((2, 9), generator), gumbel_noise((2, 9), generator)
    assert np.abs(first - second).max() > 0.1
    again = gumbel_noise((2, 9), keras.random.SeedGenerator(1))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("seed", [0, 2**31 - 1, 2**32 - 1, 1337])
def test_takes_every_seed_that_keras_takes(seed):
    assert np.isfinite(gumbel_noise((9,), keras.random.SeedGenerator(seed))).all()
    assert np.isfinite(gumbel_noise((9,), seed)).all()


def test_eager_graph_and_xla_draw_the_same():
    """The random bits are equal; XLA's logarithm and exponential may differ in the last places."""
    eager = gumbel_softmax(LOGITS, 0.9, seed=11).numpy()
    for jit_compile in (False, True):
        compiled = tf.function(
            lambda x: gumbel_softmax(x, 0.9, seed=11), jit_compile=jit_compile, autograph=False
        )
        np.testing.assert_allclose(compiled(tf.constant(LOGITS)), eager, rtol=1e-5, atol=1e-7)


def test_a_generator_draws_the_same_under_xla():
    def draws(jit_compile):
        generator = keras.random.SeedGenerator(4)
        step = tf.function(
            lambda: gumbel_noise((3, 5), generator), jit_compile=jit_compile, autograph=False
        )
        return np.stack([step(), step()])

    compiled = draws(True)
    np.testing.assert_allclose(compiled, draws(False), rtol=1e-5, atol=1e-6)
    assert np.abs(np.diff(compiled, axis=0)).max() > 0.1
