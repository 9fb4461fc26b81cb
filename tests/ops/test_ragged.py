import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.ragged import RaggedRows, put, ragged_rows


@pytest.mark.parametrize("widths", [(6, 4, 2), (2, 4, 6), (5, 3, 1), (4,)])
def test_finds_the_rows_that_lie_one_behind_the_other(widths):
    sizes = (3, 1, 4)[: len(widths)]
    rows = RaggedRows(sizes, widths)
    table = np.random.default_rng(0).normal(size=(sum(sizes), 6))
    flat, begins = [], []
    for row, width in zip(table, np.repeat(widths, sizes), strict=True):
        begins.append(len(flat))
        flat.extend(row[:width])
    np.testing.assert_array_equal(rows.pack(table).reshape(-1), flat)
    start, length = rows.find(tf.range(sum(sizes)))
    np.testing.assert_array_equal(start * rows.block, begins)
    np.testing.assert_array_equal(length * rows.block, np.repeat(widths, sizes))
    in_row = np.concatenate([np.arange(n) for n in length.numpy()])
    np.testing.assert_array_equal(rows.block_numbers(), in_row)
    assert rows.num_blocks == len(in_row) and rows.longest == max(length.numpy())


def test_leaves_out_bins_without_ids():
    assert ragged_rows([0, 2, 0], [3, 2, 1]) == RaggedRows((2,), (2,))


@pytest.mark.parametrize(
    ("sizes", "widths", "message"),
    [
        ([1, 2], [3], "`sizes` must be the ids of 1 bins"),
        ([0], [3], "at least one id in all"),
        ([1.5], [3], "`sizes` must be an integer >= 0"),
        ([1], [0], "`widths` must be an integer >= 1"),
        ([2**30], [3], "`number of blocks`"),
    ],
)
def test_refuses(sizes, widths, message):
    if message == "`number of blocks`":
        sizes, widths = [2**30, 1], [3, 1]
    with pytest.raises(ValueError, match=message):
        ragged_rows(sizes, widths)


def test_puts_blocks_where_they_belong():
    blocks, places = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32), [4, 0, 2]
    expected = np.zeros((6, 2), np.float32)
    expected[places] = blocks
    with tf.GradientTape() as tape:
        variable = tf.Variable(blocks)
        found = put(variable, tf.constant(places), 6)
        loss = tf.reduce_sum(found * np.arange(12, dtype=np.float32).reshape(6, 2))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(tape.gradient(loss, variable), [[8, 9], [0, 1], [4, 5]])
