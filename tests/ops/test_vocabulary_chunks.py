"""Every id once, in order, whatever the chunks; and nothing that a converter could know."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops import vocabulary_chunks


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, 30, 33])
def test_names_every_id_once_and_in_order(monkeypatch, count):
    monkeypatch.setattr(vocabulary_chunks, "GRAPH_CHUNK", 3)
    sizes = []

    def columns_of(ids):
        sizes.append(len(ids))
        return tf.stack([ids, -ids])

    found = vocabulary_chunks.columns_in_chunks(columns_of, count, tf.zeros(1), most=4)
    np.testing.assert_array_equal(found, [np.arange(count), -np.arange(count)])
    assert len(sizes) <= 4 and max(sizes) <= max(3, -(-count // 4)) and min(sizes) > 0


@pytest.mark.parametrize(
    "numbers", [np.zeros((0, 2)), [np.nan], [np.inf], [-np.inf, 1], [[np.nan, np.inf], [1, 2]]]
)
def test_the_unknown_zero_is_zero(numbers):
    assert int(vocabulary_chunks.unknown_zero(tf.constant(numbers, tf.float32))) == 0


def test_compiles_under_xla():
    double = tf.function(
        lambda x: vocabulary_chunks.columns_in_chunks(lambda ids: ids[None] * 2, 5, x),
        jit_compile=True,
        autograph=False,
    )
    np.testing.assert_array_equal(double(tf.zeros((2, 2))), [2 * np.arange(5)])


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [1, 3, 7, 20, 100])
def test_any_size_gives_the_rows_of_all_ids(size):
    table = np.random.default_rng(0).integers(0, 256, (20, 2, 3))
    asked = []

    def rows(ids):
        asked.append(len(ids))
        return tf.gather(table, ids)

    found = vocabulary_chunks.rows_in_chunks(rows, 20, "uint8", size)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, table)
    assert max(asked) <= size and sum(asked) == 20
