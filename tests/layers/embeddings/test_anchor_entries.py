"""The columns that rows of a sparse transform begin with."""

import numpy as np
import pytest

from kerascompact.layers.embeddings.anchor_entries import first_entries, slots_of
from kerascompact.layers.embeddings.anchor_sets import AnchorSets


def sets_of(sizes, anchor_ids=None):
    return AnchorSets(sizes, 50, 4, anchor_ids, None)


def test_random_columns_differ_and_cover_their_sets():
    found = first_entries(sets_of([6, 9]), [2, 4], 50, seed=1)
    assert found.columns.shape == (50, 6) and found.columns.dtype == np.int16
    assert found.values is None and len(found.one_hot) == 0
    assert all(len(set(row)) == 6 for row in found.columns.tolist())
    assert set(found.columns[:, :2].ravel().tolist()) == set(range(6))
    assert set(found.columns[:, 2:].ravel().tolist()) == set(range(6, 15))


def test_rows_have_the_columns_that_they_must_have():
    pairs = np.array([[3, 1], [3, 2], [7, 0], [7, 7]])
    found = first_entries(sets_of([6, 9], [[7, 1, 2, 4, 5, 6], None]), [2, 4], 50, pairs, seed=1)
    assert set(found.columns[3, :2].tolist()) == {1, 2}
    assert all(column in found.columns[row] for row, column in pairs)
    own = {(row, int(found.columns[row, slot])) for row, slot in found.one_hot.tolist()}
    assert own == {(7, 0), (1, 1), (2, 2), (4, 3), (5, 4), (6, 5)}
    assert all(len(set(row)) == 6 for row in found.columns.tolist())


def test_given_columns_stay_but_for_those_that_must_be():
    columns, values = np.array([[0, 1], [2, 3], [4, 5]]), np.array([[1.0, 2], [3, 4], [5, 6]])
    start = columns, values
    found = first_entries(sets_of(6), [2], 3, np.array([[1, 5], [2, 4]]), start=start)
    assert found.columns.tolist() == [[0, 1], [2, 5], [4, 5]]
    assert found.values.tolist() == [[1, 2], [3, 0], [5, 6]]


def test_too_many_pairs_of_a_row_raise():
    with pytest.raises(ValueError, match="`entries` must be at least 3"):
        first_entries(sets_of(6), [2], 50, np.array([[3, 1], [3, 2], [3, 4]]))


def test_slots_are_checked_for_each_set():
    assert slots_of("entries", [2, 9], sets_of([6, 9])) == [2, 9]
    assert slots_of("entries", None, sets_of([6, 40])) == [6, 16]
    with pytest.raises(ValueError, match=r"`entries` must be an integer in \[1, 6\]"):
        slots_of("entries", 7, sets_of([6, 9]))
