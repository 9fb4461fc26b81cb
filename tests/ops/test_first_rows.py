import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.first_rows import first_rows_matmul
from kerascompact.ops.unique import unique_ids


@pytest.mark.few(1)
@pytest.mark.parametrize("different", [1, 3, 31, 64])
@pytest.mark.parametrize("count", [64, 60])  # sixteenths, and a number without
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

    plain, compiled = gradients(ids), tf.function(gradients, jit_compile=True)(ids)
    np.testing.assert_allclose(plain[0], (table @ matrix)[ids], rtol=1e-5, atol=1e-6)
    for found, expected in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)  # float32 sums
