"""Sums of cosines, against every pair of rows by itself."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.cosine import mean_cosine, sum_of_squared_cosines, unit_vectors

VECTORS = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)


def cosines(vectors):
    """Equation 6's matrix, entry by entry."""
    lengths = [float(np.sqrt(np.sum(np.square(v.astype(np.float64))))) for v in vectors]
    count = len(vectors)
    return np.array(
        [
            [vectors[i].astype(np.float64) @ vectors[j] / lengths[i] / lengths[j]
             for j in range(count)]
            for i in range(count)
        ]
    )  # fmt: skip


def test_sums_are_those_of_all_pairs():
    expected = cosines(VECTORS)
    apart = ~np.eye(7, dtype=bool)
    # float32 products
    np.testing.assert_allclose(
        sum_of_squared_cosines(VECTORS, diagonal=True), np.square(expected).sum(), rtol=1e-5
    )
    np.testing.assert_allclose(
        sum_of_squared_cosines(VECTORS), np.square(expected[apart]).sum(), rtol=1e-4
    )
    np.testing.assert_allclose(mean_cosine(VECTORS), expected[apart].mean(), atol=1e-6)


def test_gradient_is_that_of_the_matrix_of_cosines_with_and_without_its_diagonal():
    variable = tf.Variable(VECTORS)
    found = []
    for diagonal in (False, True):
        with tf.GradientTape() as tape:
            loss = sum_of_squared_cosines(variable, diagonal)
        found.append(tape.gradient(loss, variable))
    with tf.GradientTape() as tape:  # the (n, n) way
        unit = variable / tf.norm(variable, axis=1, keepdims=True)
        loss = tf.reduce_sum(tf.square(tf.matmul(unit, unit, transpose_b=True)))
    expected = tape.gradient(loss, variable)
    for gradient in found:  # float32 products, in another order
        np.testing.assert_allclose(gradient, expected, atol=1e-5)


def test_a_vector_of_zeros_has_no_direction_and_no_gradient():
    variable = tf.Variable([[0.0, 0.0], [1.0, 1.0]])
    with tf.GradientTape() as tape:
        loss = sum_of_squared_cosines(variable)
    assert float(loss) == pytest.approx(0, abs=1e-6)
    assert np.isfinite(tape.gradient(loss, variable)).all()
    assert float(mean_cosine(variable)) == pytest.approx(0, abs=1e-6)
    assert unit_vectors(tf.zeros((2, 3))).numpy().tolist() == [[0.0] * 3] * 2


def test_one_word_is_like_no_other():
    assert float(mean_cosine(tf.ones((1, 3)))) == pytest.approx(0, abs=1e-6)
    assert float(sum_of_squared_cosines(tf.ones((1, 3)))) == pytest.approx(0, abs=1e-6)
