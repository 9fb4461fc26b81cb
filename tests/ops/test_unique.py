"""Unique ids against NumPy, in every way TensorFlow runs."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.unique import occurrences, row_numbers, sum_by_id, unique_ids

SHAPES = [(), (0,), (1,), (40,), (6, 5), (2, 0, 3), (2, 3, 4)]


def runs(function):
    yield function
    yield tf.function(function, autograph=False)
    yield tf.function(function, jit_compile=True, autograph=False)


@pytest.mark.few(2)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_names_every_id_once_and_finds_it_again(shape, dtype):
    ids = np.random.default_rng(0).integers(0, 12, shape).astype(dtype)
    expected, counts = np.unique(ids, return_counts=True)
    for run in runs(unique_ids):
        unique, inverse = run(tf.constant(ids))
        assert unique.dtype == dtype and inverse.dtype == tf.int32 and inverse.shape == shape
        np.testing.assert_array_equal(np.sort(unique), expected)
        np.testing.assert_array_equal(unique.numpy()[inverse.numpy()], ids)
        times = occurrences(unique, inverse)
        assert dict(zip(unique.numpy(), times.numpy(), strict=True)) == dict(
            zip(expected, counts, strict=True)
        )


def test_keeps_the_order_of_first_occurrence():
    unique, _ = unique_ids(tf.constant([5, 2, 5, 9, 2, 0]))
    assert unique.numpy().tolist() == [5, 2, 9, 0]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradient_of_a_row_is_the_sum_over_its_places(jit_compile):
    random = np.random.default_rng(1)
    ids = random.integers(0, 12, (6, 5)).astype(np.int32)
    table, weights = random.normal(size=(12, 3)), random.normal(size=(6, 5, 3))
    expected = np.zeros((12, 3))
    np.add.at(expected, ids, weights * 2 * table[ids])

    @tf.function(jit_compile=jit_compile, autograph=False)
    def gradient(table, ids):
        with tf.GradientTape() as tape:
            tape.watch(table)
            unique, inverse = unique_ids(ids)
            rows = tf.square(tf.gather(table, unique))  # what a layer computes for each id
            counts = occurrences(unique, inverse)
            total = tf.reduce_sum(weights * tf.gather(rows, inverse))
            # zero, however XLA pads the rows: the batch counts 30 places
            total += 100.0 * tf.cast(tf.reduce_sum(counts) - 30.0, total.dtype)
        return total, tf.convert_to_tensor(tape.gradient(total, table))

    total, found = gradient(tf.constant(table), tf.constant(ids))
    np.testing.assert_allclose(total, (weights * table[ids] ** 2).sum(), rtol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-12)  # float64, other order of sums


@pytest.mark.few(6)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_row_numbers_pick_the_first_rows(shape, jit_compile):
    ids = np.random.default_rng(0).integers(0, 12, shape).astype(np.int32)

    @tf.function(jit_compile=jit_compile, autograph=False)
    def first_rows(ids):
        rows = tf.reshape(tf.range(2 * tf.size(ids)), [-1, 2])  # as many as XLA knows of
        return tf.gather(rows, row_numbers(*unique_ids(ids)))

    count = len(np.unique(ids))
    np.testing.assert_array_equal(first_rows(tf.constant(ids)), np.arange(2 * count).reshape(-1, 2))


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (1, 2)])
def test_a_single_id_compiles(shape):
    """XLA refused to transpose and to normalize rows of which there is at most one."""
    table = np.random.default_rng(2).normal(size=(12, 6)).astype(np.float32)

    def gradient(ids):
        rows = tf.constant(table)
        with tf.GradientTape() as tape:
            tape.watch(rows)
            unique, inverse = unique_ids(ids)
            pieces = tf.reshape(tf.gather(rows, unique), [-1, 2, 3])
            pieces /= tf.reduce_max(tf.abs(pieces), axis=-1, keepdims=True)
            found = tf.einsum("njw,jkw->njk", pieces, table[:4].reshape(2, 4, 3))
            total = tf.reduce_sum(tf.square(tf.gather(found, inverse)))
        return tf.convert_to_tensor(tape.gradient(total, rows))

    ids = tf.fill(shape, 7)
    compiled = tf.function(gradient, jit_compile=True, autograph=False)(ids)
    # float32 sums of a few products
    np.testing.assert_allclose(compiled, gradient(ids), rtol=1e-5, atol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("where_from", ["a batch", "unique ids", "unique ids, in two lookups"])
def test_sum_by_id_is_the_same_compiled_or_not(where_from):
    """XLA pads what `tf.unique` returns, and takes the padding for ids if it is asked again."""
    batch = np.array([7, 3, 7, 9, 3, 0, 5, 7], np.int32)
    expected = np.zeros((12, 2), np.float32)
    table = np.random.default_rng(2).normal(size=(12, 2)).astype(np.float32)

    def of_batch(ids):
        return ids

    def of_unique(ids):
        return tf.reshape(unique_ids(ids)[0], [-1])

    def of_two(ids):
        return tf.concat([unique_ids(ids)[0], unique_ids(ids + 1)[0], ids[:3]], axis=0)

    made = {"a batch": of_batch, "unique ids": of_unique}.get(where_from, of_two)
    np.add.at(expected, made(tf.constant(batch)).numpy(), table[made(tf.constant(batch))])

    def summed(ids):
        ids = made(ids)
        ids, sums = sum_by_id(ids, tf.gather(table, ids))
        return ids, tf.tensor_scatter_nd_add(tf.zeros([12, 2]), ids[:, None], sums)

    for run in runs(summed):
        ids, sums = run(tf.constant(batch))
        assert len(set(ids.numpy())) == len(ids) == np.sum(expected.any(axis=1))
        np.testing.assert_allclose(sums, expected, rtol=1e-6)


@pytest.mark.few(2)
@pytest.mark.parametrize("made", ["unique ids", "unique ids + 1", "kept ids", "rows", "column"])
@pytest.mark.parametrize("num_rows", [None, 12])
def test_unique_ids_of_padded_ids(made, num_rows):
    """An embedding within `SkipGram` was given what `tf.unique` had found: XLA counted 8 ids."""
    batch = np.array([7, 3, 7, 9, 3, 2, 5, 7], np.int32)
    table = np.random.default_rng(3).normal(size=(12, 2)).astype(np.float32)
    make = {
        "unique ids": lambda ids: tf.unique(ids)[0],
        "unique ids + 1": lambda ids: tf.unique(ids)[0] + 1,
        "kept ids": lambda ids: tf.boolean_mask(ids, ids > 2),  # 7 occurs three times
        "rows": lambda ids: tf.boolean_mask(tf.reshape(ids, [4, 2]), ids[::2] > 5),
        "column": lambda ids: tf.unique(ids)[0][:, None],
    }[made]
    given = make(tf.constant(batch)).numpy()

    def found(ids):
        ids = make(ids)
        rows = tf.constant(table)
        with tf.GradientTape() as tape:
            tape.watch(rows)
            unique, inverse = unique_ids(ids, num_rows)
            vectors = tf.gather(tf.gather(rows, unique), inverse)
            total = tf.reduce_sum(tf.square(vectors))
        gradient = tape.gradient(total, rows)
        _, sums = sum_by_id(gradient.indices, gradient.values)
        counts = occurrences(unique, inverse)
        shape = tf.shape(vectors)[0], tf.shape(unique)[0]
        squares = tf.reduce_sum(tf.square(sums))
        return unique, counts, total, shape, tf.convert_to_tensor(gradient), squares

    times = {
        int(one): count for one, count in zip(*np.unique(given, return_counts=True), strict=True)
    }
    expected = 2 * table * np.bincount(given.ravel(), minlength=12)[:, None]
    for run in runs(found):
        unique, counts, total, shape, gradient, squares = run(tf.constant(batch))
        assert dict(zip(unique.numpy(), counts.numpy(), strict=True)) == times
        assert [int(size) for size in shape] == [len(given), len(times)]
        np.testing.assert_allclose(total, (table[given] ** 2).sum(), rtol=1e-5)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5)
        np.testing.assert_allclose(squares, (expected**2).sum(), rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_sum_by_id_sums_rows_at_places_of_unique_ids(jit_compile):
    """`tf.unique` returns ids and places; only the ids are distinct."""

    @tf.function(jit_compile=jit_compile, autograph=False)
    def summed(ids):
        ids, sums = sum_by_id(tf.unique(ids)[1], tf.ones((4, 1)))
        return tf.math.unsorted_segment_sum(sums, ids, 4), tf.size(ids)

    sums, count = summed(tf.constant([7, 7, 7, 3]))
    assert sums.numpy()[:, 0].tolist() == [3, 1, 0, 0] and int(count) == 2
