"""The same bits with and without XLA, others at each call of a generator."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.random_bits import hashed_bits, random_bits

both = pytest.mark.parametrize("random_bits", [random_bits, hashed_bits])


@both
def test_depend_on_the_seed_alone(random_bits):
    one = random_bits((4, 100), seed=1).numpy()
    compiled = tf.function(lambda: random_bits((4, 100), 1), jit_compile=True, autograph=False)
    np.testing.assert_array_equal(compiled(), one)
    assert one.dtype == np.uint32 and np.unique(one).size == one.size
    assert np.any(random_bits((4, 100), seed=2) != one)


@both
def test_a_generator_gives_others_each_time(random_bits):
    generator = keras.random.SeedGenerator(5)
    first, second = (random_bits((100,), generator).numpy() for _ in range(2))
    assert np.any(first != second)
    again = random_bits((100,), keras.random.SeedGenerator(5))
    np.testing.assert_array_equal(again, first)


@both
def test_every_bit_is_set_half_of_the_time(random_bits):
    numbers = random_bits((20_000,), seed=3).numpy()
    shares = np.unpackbits(numbers.view(np.uint8)).reshape(-1, 32).mean(axis=0)
    assert np.all(np.abs(shares - 0.5) < 5 * 0.5 / np.sqrt(20_000))  # 5 standard deviations


def test_hashed_bits_of_two_calls_and_of_neighbours_are_independent():
    generator = keras.random.SeedGenerator(3)
    calls = [hashed_bits((100_000,), generator).numpy() for _ in range(3)]
    for one, other in [(calls[0], calls[1]), (calls[1], calls[2]), (calls[0][1:], calls[0][:-1])]:
        same = np.unpackbits((one ^ other).view(np.uint8)).reshape(-1, 32).mean(axis=0)
        assert np.all(np.abs(same - 0.5) < 5 * 0.5 / np.sqrt(len(one)))  # 5 standard deviations
    cells = np.bincount(calls[0] >> 24, minlength=256)  # chi-square of 255 degrees of freedom
    assert abs(((cells - 390.625) ** 2 / 390.625).sum() - 255) < 5 * np.sqrt(2 * 255)
