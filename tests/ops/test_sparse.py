"""Ragged rows: found by block, read entry by entry, summed as integers."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import sparse

ROWS = [
    np.array([2, 0, 3]),
    np.zeros(5, int),
    np.random.default_rng(0).integers(0, 300, 100),
    np.full(sparse.BLOCK, 1),
    np.full(2 * sparse.BLOCK + 1, 2),
]


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", ROWS, ids=len)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_finds_the_entries_of_every_row(rows, jit_compile):
    lengths, starts = map(tf.constant, sparse.block_rows(rows, "int16"))
    expected = np.split(np.arange(rows.sum()), np.cumsum(rows)[:-1])

    @tf.function(jit_compile=jit_compile, autograph=False)
    def entries(ids):
        return sparse.entries_of_rows(*sparse.find_rows(lengths, starts, ids), int(rows.max()))

    # as many ids twice: XLA compiles once
    for ids in (np.arange(len(rows)), np.resize([len(rows) - 1, 0, 0, 1], len(rows))):
        row, place = entries(tf.constant(ids, tf.int32))
        np.testing.assert_array_equal(row, np.repeat(np.arange(len(ids)), rows[ids]))
        np.testing.assert_array_equal(place, np.concatenate([expected[id] for id in ids]))


@pytest.mark.few(2)
@pytest.mark.parametrize("rows", ROWS, ids=len)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_sums_of_runs_wrap_around_and_are_right(rows, jit_compile):
    random = np.random.default_rng(1)
    # large sums of one sign: the running total passes 2**31 many times
    entries = random.uniform(0.5, 1.0, (rows.sum(), 2)).astype(np.float32)
    entries[:, 1] *= random.choice([-1e6, 1e6], len(entries))
    expected = np.stack(
        [part.sum(axis=0) for part in np.split(entries.astype(float), np.cumsum(rows)[:-1])]
    )
    bound = np.maximum(np.abs(expected).max(axis=0), np.abs(entries).max(axis=0, initial=0))
    function = tf.function(sparse.sum_runs, jit_compile=jit_compile, autograph=False)
    found = function(entries, tf.constant(rows, tf.int32), tf.constant(bound, tf.float32))
    # 2**-30 of the bound for each of <= 300 entries, and the rounding of float32
    atol = np.maximum(300 * 2.0**-30 + 2.0**-23, 0) * bound
    assert (np.abs(found - expected) <= atol).all()
    one = function(entries[:, 0], tf.constant(rows, tf.int32), tf.constant(bound[0], tf.float32))
    np.testing.assert_array_equal(one, found[:, 0])


def test_a_total_that_float32_would_round_away_is_kept():
    entries = np.array([[1e4]] * 10_000 + [[1.0], [3.0]], np.float32)
    lengths = tf.constant([1] * 10_000 + [2])
    found = sparse.sum_runs(entries, lengths, tf.constant([1e4]))
    assert abs(float(found[-1, 0]) - 4) < 1e-4
    assert abs(float(np.cumsum(entries, dtype=np.float32)[-1] - 1e8) - 4) > 1


def test_the_gradient_of_a_sum_reaches_each_of_its_entries():
    entries, lengths = tf.ones((6, 2)), tf.constant([2, 0, 3])  # the last entry is in no run
    with tf.GradientTape() as tape:
        tape.watch(entries)
        sums = sparse.sum_runs(entries, lengths, tf.constant([9.0, 9.0]))
        loss = tf.reduce_sum(sums * [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    gradient = tape.gradient(loss, entries)
    expected = [[1, 2], [1, 2], [5, 6], [5, 6], [5, 6], [0, 0]]
    np.testing.assert_array_equal(gradient, expected)


def test_numbers_that_are_not_finite_stay_so():
    found = sparse.sum_runs(tf.constant([[np.nan]]), tf.constant([1]), tf.constant([np.nan]))
    assert np.isnan(found[0, 0])
    assert float(sparse.sum_runs(tf.zeros((1, 1)), tf.constant([1]), tf.zeros(1))[0, 0]) == 0
