"""Means for files of integers, against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.core.integer_mean import factors, integer_mean, over_number


@pytest.mark.parametrize("length", [1, 6, 300])
def test_means_are_those_of_numpy(length):
    drawn = np.random.default_rng(length)
    vectors = drawn.normal(size=(40, length, 3)).astype("float32")
    mask = drawn.random((40, length)) < drawn.random((40, 1))
    mask[0], mask[1] = False, True
    kept = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    wanted = (vectors * mask[..., None]).sum(axis=1) / kept
    np.testing.assert_allclose(integer_mean(tf.constant(vectors), mask), wanted, atol=1e-5)
    added = (vectors * mask[..., None]).sum(axis=1)
    np.testing.assert_allclose(over_number(tf.constant(added), mask), wanted, atol=1e-5)


def test_factors_are_powers_of_two_and_the_rest():
    mask = np.tril(np.ones((301, 300), bool), -1)  # none, one, ... 300
    weight, rest = (np.asarray(one)[:, 0] for one in factors(tf.constant(mask)))
    assert weight[0] == 0 and rest[0] == 1
    assert {*np.log2(weight[1:])} == {*range(-7, 1)}
    few = np.arange(301) < 256
    assert rest[few].min() > 0.5 and rest.max() == 1 and rest.min() > 128 / 301
