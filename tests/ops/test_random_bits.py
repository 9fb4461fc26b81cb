"""The same bits with and without XLA, others at each call of a generator."""

import keras
import numpy as np
import tensorflow as tf

from kerascompact.ops.random_bits import random_bits


def test_depend_on_the_seed_alone():
    one = random_bits((4, 100), seed=1).numpy()
    compiled = tf.function(lambda: random_bits((4, 100), 1), jit_compile=True)
    np.testing.assert_array_equal(compiled(), one)
    assert one.dtype == np.uint32 and np.unique(one).size == one.size
    assert np.any(random_bits((4, 100), seed=2) != one)


def test_a_generator_gives_others_each_time():
    generator = keras.random.SeedGenerator(5)
    first, second = (random_bits((100,), generator).numpy() for _ in range(2))
    assert np.any(first != second)
    again = random_bits((100,), keras.random.SeedGenerator(5))
    np.testing.assert_array_equal(again, first)


def test_every_bit_is_set_half_of_the_time():
    numbers = random_bits((20_000,), seed=3).numpy()
    shares = np.unpackbits(numbers.view(np.uint8)).reshape(-1, 32).mean(axis=0)
    assert np.all(np.abs(shares - 0.5) < 5 * 0.5 / np.sqrt(20_000))  # 5 standard deviations
