"""Rounding of kernels: half a step away at most, and the same once it is done again."""

import numpy as np
import pytest

from kerascompact.export.kernel_rounding import as_integers, rounded


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_integers_and_scales_come_back_from_float32(axis):
    random = np.random.default_rng(axis)
    codes = random.integers(-127, 128, (6, 7, 8))
    codes[0, 0, 0], codes[1], codes[:, 2] = 127, 0, codes[:, 2] // 3
    shape = [1, 1, 1]
    shape[axis] = codes.shape[axis]
    scale = random.uniform(0.01, 3, shape).astype(np.float32)
    kernel = codes.astype(np.float32) * scale
    found, steps = as_integers(kernel, axis)
    # Where no number is 127 steps, the step is known up to the rounding of the largest.
    np.testing.assert_allclose(found * steps.reshape(shape), kernel, rtol=2e-7)


def test_other_numbers_are_no_integers():
    random = np.random.default_rng(0)
    assert as_integers(random.normal(size=(20, 5)).astype(np.float32), 1) is None
    zeros, scale = as_integers(np.zeros((20, 5), np.float32), 1)
    assert not zeros.any() and scale.tolist() == [1] * 5


def test_rounding_is_within_half_a_step():
    kernel = np.random.default_rng(0).normal(size=(50, 3, 4)).astype(np.float32)
    for axis in (0, 1, 2):
        rest = tuple(other for other in range(3) if other != axis)
        steps = np.abs(kernel).max(rest, keepdims=True) / 127
        codes, found = rounded(kernel, axis)
        assert codes.dtype == np.int8 and np.abs(codes).max() == 127
        assert np.all(np.abs(found - kernel) <= 0.501 * steps)
        again, same = rounded(found, axis)
        assert same is found and np.array_equal(again, codes)
