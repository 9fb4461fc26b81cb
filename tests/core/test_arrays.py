"""Pairs of ids go into a configuration as text and come back."""

import numpy as np
import pytest

from kerascompact.core import arrays


@pytest.mark.parametrize("count", [0, 1, 1000])
def test_text_holds_the_same_pairs(count):
    pairs = np.random.default_rng(0).integers(0, 2**31 - 1, (count, 2))
    found = arrays.pairs("pairs", arrays.to_text(pairs))
    np.testing.assert_array_equal(found, pairs)
    assert found.dtype == np.int32


def test_takes_lists_and_nothing():
    assert arrays.pairs("pairs", None) is None
    assert arrays.pairs("pairs", []).shape == (0, 2)
    assert arrays.pairs("pairs", [(1, 2)], 2, 3).tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1, 2], r"`pairs` must be an array of pairs \(n, 2\)"),
        ([[1, 2, 3]], "`pairs` must be an array of pairs"),
        ([[1.5, 2.0]], r"`pairs\[:, 0\]` must be an array of integers"),
        ([[1, 5]], r"`pairs\[:, 1\]` must lie in \[0, 5\)"),
        ([[-1, 0]], r"`pairs\[:, 0\]` must lie in \[0, 4\)"),
        ("no text of ours", "`pairs` must be pairs"),
    ],
)
def test_refuses_anything_else(value, message):
    with pytest.raises(ValueError, match=message):
        arrays.pairs("pairs", value, 4, 5)


def test_one_array_is_not_several(tmp_path):
    with open(tmp_path / "one.npz", "wb") as file:
        np.save(file, np.arange(3))
    with pytest.raises(ValueError, match=r"one\.npz is no \.npz file .*one array"):
        arrays.load_npz(tmp_path / "one.npz")
