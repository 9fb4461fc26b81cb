import numpy as np
import pytest
import tensorflow as tf

from form_examples import by_hand
from kerascompact.core.hash32 import fmix32 as core_fmix32
from kerascompact.ops.hashing import fmix32, hash_ids


@pytest.mark.few(2)
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("seed, buckets", [(0, 7), (1, 1000), (12345, 2**31 - 1), (3, 1)])
def test_is_the_hash_of_whole_numbers(seed, buckets, jit_compile):
    ids = [0, 1, 2, 12, 999, 10_000, 267_734, 2**31 - 1]
    hashed = tf.function(
        lambda a: hash_ids(a, seed, buckets), jit_compile=jit_compile, autograph=False
    )
    expected = [by_hand(number, seed, buckets) for number in ids]
    assert hashed(tf.constant(ids)).numpy().tolist() == expected


def test_fills_buckets_evenly_and_seeds_are_independent():
    ids = tf.range(100_000)
    one, other = (hash_ids(ids, seed, 50).numpy() for seed in (0, 1))
    pairs = np.bincount(one * 50 + other, minlength=2500)
    # of a multinomial: chi-squared with 2,499 degrees of freedom, five deviations
    chi = np.sum((pairs - 40.0) ** 2 / 40)
    assert abs(chi - 2499) < 5 * np.sqrt(2 * 2499)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_mixes_as_numpy_does(jit_compile):
    numbers = np.array([0, 1, -1, 2**31 - 1, -(2**31), 12345], np.int32)
    mixed = tf.function(fmix32, jit_compile=jit_compile, autograph=False)(numbers).numpy()
    np.testing.assert_array_equal(mixed.view(np.uint32), core_fmix32(numbers))
