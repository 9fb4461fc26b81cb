"""Proximal operators against the minimum they are defined by, found by other means."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.prox import (
    group_soft_threshold,
    nonnegative_soft_threshold,
    soft_threshold,
)

X = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
EXACT = X.astype(np.float64)
ALL = [soft_threshold, nonnegative_soft_threshold, group_soft_threshold]
GRID = np.arange(-4000, 4001) / 1000


@pytest.mark.parametrize("t", [0.0, 0.3, 1.5, 9.0])
@pytest.mark.parametrize(
    "operator, allowed",
    [(soft_threshold, GRID >= -4), (nonnegative_soft_threshold, GRID >= 0)],
)
def test_is_the_minimum_of_the_penalty_and_the_distance(operator, allowed, t):
    points = GRID[allowed]
    loss = t * np.abs(points) + (points - EXACT[..., None]) ** 2 / 2
    found = operator(tf.constant(X), t).numpy()
    np.testing.assert_allclose(found, points[loss.argmin(-1)], atol=6e-4)  # half a step of the grid
    np.testing.assert_array_equal(points[loss.argmin(-1)] == 0, found == 0)  # 0, not nearly


@pytest.mark.parametrize("t", [0.3, 1.5])
def test_group_is_the_minimum_along_and_across_the_row(t):
    """The minimiser of a rotation-invariant loss lies on the row's ray: search its length."""
    lengths = np.linspace(0, 4, 4001)
    norms = np.linalg.norm(X, axis=1)
    loss = t * lengths + (lengths - norms[:, None]) ** 2 / 2
    found = group_soft_threshold(tf.constant(X), t).numpy()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), lengths[loss.argmin(1)], atol=6e-4)
    cosines = (found * X).sum(1)
    np.testing.assert_allclose(cosines, np.linalg.norm(found, axis=1) * norms, rtol=1e-5)
    assert not found[norms <= t].any()


@pytest.mark.parametrize("operator", ALL)
def test_thresholds_add_up(operator):
    """What makes the catch-up of rows that were away exact."""
    x = tf.constant(X)
    twice = operator(operator(x, 0.4), 0.3)
    np.testing.assert_allclose(twice, operator(x, 0.7), atol=1e-6)  # rounding of numbers near 1


@pytest.mark.parametrize("operator", [soft_threshold, group_soft_threshold])
def test_zero_is_the_identity_on_every_bit(operator):
    rows = np.concatenate([X, np.zeros((1, 4), np.float32)])
    np.testing.assert_array_equal(operator(tf.constant(rows), 0.0), rows)


@pytest.mark.parametrize("operator", ALL)
def test_thresholds_of_rows_broadcast(operator):
    t = np.linspace(0, 2, 7, dtype=np.float32)[:, None]
    rows = [operator(tf.constant(X[i : i + 1]), t[i, 0]).numpy()[0] for i in range(7)]
    np.testing.assert_allclose(operator(tf.constant(X), t), rows, rtol=1e-6)


def test_thresholds_of_entries_broadcast():
    t = np.random.default_rng(1).random(X.shape, np.float32)
    expected = np.sign(X) * np.maximum(np.abs(X) - t, 0)
    np.testing.assert_allclose(soft_threshold(tf.constant(X), t), expected, rtol=1e-6)
