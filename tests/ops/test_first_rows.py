import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.first_rows import first_rows_matmul
from kerascompact.ops.unique import unique_ids

# Sixteenths of which some are computed, all or one; and a number of rows that has none.
CASES = [(64, 31), (64, 1), (64, 3), (64, 64), (60, 1), (60, 31), (60, 60)]
SLOW = [pytest.param(*case, marks=pytest.mark.slow) for case in CASES[1:]]


@pytest.mark.parametrize(("count", "different"), [CASES[0], *SLOW])
def test_the_product_and_its_gradients_are_those_of_all_rows(count, different):
    random = np.random.default_rng(0)
    ids = tf.constant(random.integers(0, different, count), tf.int32)
    table, matrix = (random.normal(size=size).astype(np.float32) for size in ((70, 5), (5, 3)))
    upstream = random.normal(size=(count, 3)).astype(np.float32)

    def gradients(ids):
        with tf.GradientTape() as tape:
            inputs = tf.constant(table), tf.constant(matrix)
            tape.watch(inputs)
            unique, inverse = unique_ids(ids, 70)
            vectors = first_rows_matmul(tf.gather(inputs[0], unique), inputs[1], inverse)
            found = tf.gather(vectors, inverse)
        return found, *map(tf.convert_to_tensor, tape.gradient(found, inputs, upstream))

    plain, compiled = gradients(ids), tf.function(gradients, jit_compile=True, autograph=False)(ids)
    np.testing.assert_allclose(plain[0], (table @ matrix)[ids], rtol=1e-5, atol=1e-6)
    for found, expected in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)  # float32 sums
