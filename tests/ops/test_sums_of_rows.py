"""Weighted sums of rows against dense products in float64, with and without XLA."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import sums_of_rows as module
from kerascompact.ops.sums_of_rows import dense_rows, sums_of_rows


def random_case(count=40, size=9, slots=4, width=5):
    random = np.random.default_rng(0)
    columns = np.stack([random.permutation(size)[:slots] for _ in range(count)]).astype(np.int32)
    weights = random.normal(size=(count, slots)).astype(np.float32)
    table = random.normal(size=(size, width)).astype(np.float32)
    upstream = random.normal(size=(count, width)).astype(np.float32)
    return columns, weights, table, upstream


@pytest.mark.few(2)
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("widest", [0, 4096])
def test_is_the_product_with_a_dense_matrix(jit_compile, widest, monkeypatch):
    monkeypatch.setattr(module, "WIDEST", widest)
    columns, weights, table, upstream = random_case()
    dense = np.zeros((40, 9))
    np.put_along_axis(dense, columns, weights, axis=1)
    expected = (dense @ table, dense.T @ upstream,
                np.take_along_axis(upstream.astype(float) @ table.T, columns, axis=1))  # fmt: skip

    @tf.function(jit_compile=jit_compile, autograph=False)
    def run(columns, weights, table, upstream):
        with tf.GradientTape() as tape:
            tape.watch([table, weights])
            sums = sums_of_rows(table, columns, weights)
        return sums, *tape.gradient(sums, [table, weights], upstream)

    found = run(*map(tf.constant, (columns, weights, table, upstream)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)  # sums of up to 40 float32 products


def test_no_rows_have_no_sums():
    @tf.function(autograph=False)  # in a graph TensorFlow's product of no rows ends the process
    def run(table, columns, weights):
        with tf.GradientTape() as tape:
            tape.watch([table, weights])
            sums = sums_of_rows(table, columns, weights)
        return sums, *tape.gradient(sums, [table, weights])

    none = tf.zeros((0, 2))
    sums, to_table, to_weights = run(tf.ones((3, 4)), tf.zeros((0, 2), tf.int16), none)
    assert (sums.shape, to_weights.shape) == ((0, 4), (0, 2))
    assert to_table.numpy().tolist() == [[0.0] * 4] * 3


def test_repeated_columns_of_dense_rows_add_up():
    found = dense_rows(tf.constant([[1, 1], [0, 2]]), tf.constant([[2.0, 3.0], [4.0, 5.0]]), 3)
    assert found.numpy().tolist() == [[0, 5, 0], [4, 0, 5]]


def test_is_saved_with_its_gradient(tmp_path):
    columns, weights, table, upstream = random_case()
    made = tf.Module()
    made.table = tf.Variable(table)
    made.sums = tf.function(lambda places, of: sums_of_rows(made.table, places, of))
    expected = made.sums(columns, weights)
    tf.saved_model.save(made, str(tmp_path))
    with tf.GradientTape() as tape:
        loaded = tf.saved_model.load(str(tmp_path))
        found = loaded.sums(columns, weights)
    np.testing.assert_array_equal(found, expected)
    dense = np.zeros((40, 9))
    np.put_along_axis(dense, columns, weights, axis=1)
    gradient = tape.gradient(found, loaded.table, tf.constant(upstream))
    np.testing.assert_allclose(gradient, dense.T @ upstream, atol=1e-5)
