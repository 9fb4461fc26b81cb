"""Every row in one batch, under the least bound that a full batch allows."""

import numpy as np
import pytest

from kerascompact.text.buckets import length_batches

BOUNDS = [2, 5, 9]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 200])
@pytest.mark.parametrize("batch_size", [1, 8])
def test_every_row_once_and_one_batch_at_most_is_small(count, batch_size):
    random = np.random.default_rng(count)
    tokens = random.integers(0, 10, count)
    found = length_batches(tokens, BOUNDS, batch_size, random.permutation)
    assert sorted(np.concatenate([rows for rows, _ in found])) == list(range(count))
    sizes = sorted(len(rows) for rows, _ in found)
    assert len(sizes) == -(-count // batch_size) and sizes[1:] == [batch_size] * (len(sizes) - 1)
    assert all(tokens[rows].max() <= bound for rows, bound in found)
    # fewer rows than a batch move on from a bucket to the next
    for bound in BOUNDS:
        moved = sum(np.sum(tokens[rows] <= bound) for rows, under in found if under > bound)
        assert moved < batch_size


def test_without_an_order_rows_stay_in_theirs():
    tokens = np.array([9, 1, 4, 2, 0, 3, 5, 1])
    found = [(rows.tolist(), bound) for rows, bound in length_batches(tokens, BOUNDS, 3)]
    assert found == [([1, 3, 4], 2), ([7, 2, 5], 5), ([6, 0], 9)]


def test_a_bucket_may_be_empty():
    found = length_batches(np.array([1, 2, 9]), BOUNDS, 2)
    assert [(rows.tolist(), bound) for rows, bound in found] == [([0, 1], 2), ([2], 9)]
