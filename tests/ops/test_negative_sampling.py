"""Negative sampling: equation 4 pair by pair, and draws by their frequencies."""

import math

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.negative_sampling import (
    draw_noise,
    negative_sampling_loss,
    shared_noise_loss,
)
from kerascompact.ops.random_bits import random_bits


def log_sigma(x):
    return -math.log1p(math.exp(-x))


def test_loss_is_equation_4():
    random = np.random.default_rng(0)
    positive, negative = random.normal(size=3), random.normal(size=(3, 5))
    found = negative_sampling_loss(
        tf.constant(positive, tf.float32), tf.constant(negative, tf.float32)
    )
    for n in range(3):
        expected = log_sigma(positive[n]) + sum(log_sigma(-x) for x in negative[n])
        assert float(found[n]) == pytest.approx(-expected, rel=1e-6)


def test_large_logits_stay_finite():
    found = negative_sampling_loss(tf.constant([-200.0, 200.0]), tf.constant([[200.0], [-200.0]]))
    assert found.numpy().tolist() == [400.0, 0.0]


def test_shared_noise_is_k_times_the_mean_over_the_draws():
    logits = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    times = np.array([2.0, 1.0, 4.0], np.float32)
    expected = -sum(
        times[u] * 25 / 4 * sum(log_sigma(-float(x)) for x in logits[u]) for u in range(3)
    )
    assert float(shared_noise_loss(logits, times, 25)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_draws_have_the_distribution(jit_compile):
    share = np.array([0.0, 0.5, 0.2, 0.0, 0.3])
    cumulative = (np.round(2.0**31 * np.cumsum(share)) - 1).astype(np.int32)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def draw():
        return draw_noise(tf.constant(cumulative), random_bits((400, 50), seed=3))

    found = draw().numpy()
    assert found.shape == (400, 50)
    counts = np.bincount(found.reshape(-1), minlength=5) / found.size
    # five standard deviations
    np.testing.assert_allclose(counts, share, atol=5 * 0.5 / found.size**0.5)
    assert counts[0] == counts[3] == 0
