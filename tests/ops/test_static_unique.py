"""Unique ids and sums of rows under XLA, whose shapes are known, against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import static_unique
from kerascompact.ops.unique import occurrences, row_numbers, sum_by_id, unique_ids

SHAPES = [(), (0,), (1,), (40,), (6, 5), (2, 0, 3), (2, 3, 4)]
# With more ids than rows, fewer, and so many rows that the ids are sorted.
ROWS = [12, 100, 100_000]


def compiled(function, dynamic=False):
    """The function under XLA; `dynamic`: the graph does not know the shape."""
    if not dynamic:
        return tf.function(function, jit_compile=True, autograph=False)
    return tf.function(
        function, jit_compile=True, input_signature=[tf.TensorSpec(None, tf.int32)], autograph=False
    )


@pytest.mark.few(2)
@pytest.mark.parametrize("num_rows", ROWS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_results_are_those_without_xla(shape, dtype, num_rows):
    ids = tf.constant(np.random.default_rng(0).integers(0, 12, shape), dtype)
    expected, places = unique_ids(ids)
    unique, inverse = compiled(lambda ids: unique_ids(ids, num_rows))(ids)
    assert unique.dtype == dtype and inverse.dtype == tf.int32
    assert len(unique) == min(np.size(ids), num_rows)
    np.testing.assert_array_equal(inverse, places)
    np.testing.assert_array_equal(unique[: len(expected)], expected)
    assert set(unique.numpy()) <= set(ids.numpy().ravel())
    times = occurrences(unique, inverse).numpy()
    np.testing.assert_array_equal(times[: len(expected)], occurrences(expected, places))
    np.testing.assert_array_equal(times[len(expected) :], 0)


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_random_number_per_id_is_the_same_without_xla(dynamic):
    ids = tf.constant([[7, 3, 7], [9, 3, 0]])

    def drawn(ids):
        unique, inverse = unique_ids(ids, 12)
        noise = 10 * tf.range(tf.size(ids))  # one for each place of the batch
        return tf.gather(tf.gather(noise, row_numbers(unique, inverse)), inverse)

    np.testing.assert_array_equal(compiled(drawn, dynamic)(ids), drawn(ids))


def test_ids_out_of_range_are_the_nearest_row():
    """As XLA's gather reads it: XLA cannot raise an error."""
    unique_of = compiled(lambda ids: unique_ids(ids, 12))
    for ids in ([5, 11, 12, 40, -3, 5], [12] * 6, [-1] * 6):  # compiled once
        unique, inverse = unique_of(tf.constant(ids))
        np.testing.assert_array_equal(tf.gather(unique, inverse), np.clip(ids, 0, 11))


def names(kind, ids, num_rows):
    if kind == "a batch":
        return ids
    if kind == "unique ids":
        return tf.reshape(unique_ids(ids, num_rows)[0], [-1])
    others = tf.minimum(ids + 1, num_rows - 1)
    two = [unique_ids(given, num_rows)[0] for given in (ids, others)]
    return tf.concat([*two, ids[:3]], axis=0)


@pytest.mark.few(1)
@pytest.mark.parametrize("num_rows", [5, *ROWS])
@pytest.mark.parametrize("kind", ["a batch", "unique ids", "unique ids, in two lookups"])
def test_sums_reach_every_row_once(kind, num_rows):
    batch = np.minimum([7, 3, 7, 9, 3, 0, 5, 7], num_rows - 1).astype(np.int32)
    table = np.random.default_rng(2).normal(size=(num_rows, 2)).astype(np.float32)
    counts = np.zeros(num_rows)

    @tf.function(jit_compile=True, autograph=False)
    def summed(batch):
        with tf.GradientTape() as tape:
            rows = tf.constant(table)
            tape.watch(rows)
            ids = names(kind, batch, num_rows)
            unique, inverse = unique_ids(batch, num_rows)
            used = tf.gather(rows, ids) * tf.cast(ids < num_rows, tf.float32)[:, None]
            if kind == "unique ids":  # padding gets no gradient, as in a layer
                used = tf.gather(used, inverse)
            loss = tf.reduce_sum(tf.square(used))
        return sum_by_id(ids, gradient_rows(tape.gradient(loss, rows)), num_rows)

    def gradient_rows(gradient):
        return gradient.values

    ids, sums = (found.numpy() for found in summed(tf.constant(batch)))
    real = ids < num_rows
    assert len(set(ids[real])) == real.sum() and len(ids) <= max(19, num_rows)
    np.testing.assert_array_equal(sums[~real], 0.0)
    found = np.zeros_like(table)
    found[ids[real]] = sums[real]
    if kind == "unique ids, in two lookups":  # the padding of both counts here
        for given in (batch, np.minimum(batch + 1, num_rows - 1)):
            unique = np.unique(given)
            np.add.at(counts, unique, 1)
            counts[given.max()] += min(len(given), num_rows) - len(unique)
        np.add.at(counts, batch[:3], 1)
    else:
        np.add.at(counts, batch, 1)
    # float32 sums in another order
    np.testing.assert_allclose(found, 2 * counts[:, None] * table, rtol=1e-5, atol=1e-6)


def test_sums_leave_out_ids_out_of_range():
    ids, values = tf.constant([2, 4, -1, 2, 9]), tf.constant([[1.0], [2.0], [4.0], [8.0], [16.0]])
    for num_rows in (3, 4):
        found, sums = compiled(lambda ids, n=num_rows: sum_by_id(ids, values, n))(ids)
        table = tf.tensor_scatter_nd_add(tf.zeros((20, 1)), found[:, None], sums)
        np.testing.assert_array_equal(table[:, 0], 9.0 * (np.arange(20) == 2))


def test_nothing_sorts(monkeypatch):
    def kinds(num_rows):
        made = tf.function(lambda ids: unique_ids(ids, num_rows), jit_compile=True, autograph=False)
        graph = made.get_concrete_function(tf.TensorSpec((40,), tf.int32)).graph
        return {op.type for op in graph.get_operations()}

    assert not kinds(100) & {"Unique", "TopKV2"}
    monkeypatch.setattr(static_unique, "ROWS_PER_ID", 1)
    assert "TopKV2" in kinds(100)  # far more rows than ids
