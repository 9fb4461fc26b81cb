"""Rounding to bfloat16 at random, against the neighbours that NumPy counts in bits."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.bfloat16 import stochastic_bfloat16


def neighbours(values):
    """The bfloat16 on each side of float32 numbers, nearer to 0 and farther, and their share."""
    bits = np.float32(values).view(np.uint32)
    inner = (bits & 0xFFFF0000).view(np.float32)
    outer = ((bits & 0xFFFF0000) + 0x10000).view(np.float32)
    return inner, outer, (values - inner) / (outer - inner)


def rounded(values, seed, jit_compile=False):
    function = tf.function(stochastic_bfloat16, jit_compile=jit_compile, autograph=False)
    return tf.cast(function(tf.constant(values), seed), tf.float32).numpy()


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_takes_the_outer_neighbour_as_often_as_the_number_is_near_it(jit_compile):
    random = np.random.default_rng(0)
    row = np.float32(random.normal(size=16) * 10.0 ** random.integers(-30, 30, 16))
    found = rounded(np.tile(row, (4000, 1)), 5, jit_compile)
    inner, outer, share = neighbours(row)
    assert np.all((found == inner) | (found == outer))
    # 4,000 draws have a deviation of 0.008 at most
    np.testing.assert_allclose(np.mean(found == outer, axis=0), share, atol=0.035)
    np.testing.assert_array_equal(found, rounded(np.tile(row, (4000, 1)), 5))


def test_rows_columns_and_seeds_have_noise_of_their_own():
    half = np.full((512, 512), 1 + 2.0**-8, np.float32)  # halfway between two neighbours
    ups = [rounded(half, seed) > 1 + 2.0**-8 for seed in (1, 2)]
    for one, other in [
        (ups[0], ups[1]),
        (ups[0][1:], ups[0][:-1]),
        (ups[0][:, 1:], ups[0][:, :-1]),
    ]:
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.1


def test_what_needs_no_rounding_stays():
    exact = np.float32([[0, -0.0, 1, -3.5, np.inf, -np.inf, np.nan, 1e-40]]).repeat(300, axis=0)
    exact[:, -1] = (exact[:, -1].view(np.uint32) & 0xFFFF0000).view(np.float32)  # subnormal
    np.testing.assert_array_equal(rounded(exact, 3).view(np.uint32), exact.view(np.uint32))
    assert rounded(np.zeros((0, 4), np.float32), 3).shape == (0, 4)
