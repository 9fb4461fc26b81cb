"""Chunks of every size give the same array."""

import numpy as np
import pytest
import tensorflow as tf

from kerascompact.ops.chunks import in_chunks


@pytest.mark.parametrize("size", [1, 3, 7, 20, 100])
def test_any_size_gives_the_rows_of_all_ids(size):
    table = np.random.default_rng(0).integers(0, 256, (20, 2, 3))
    asked = []

    def rows(ids):
        asked.append(len(ids))
        return tf.gather(table, ids)

    found = in_chunks(rows, 20, "uint8", size)
    assert found.dtype == np.uint8
    np.testing.assert_array_equal(found, table)
    assert max(asked) <= size and sum(asked) == 20
