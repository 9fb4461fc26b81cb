"""Held-out rows by hand, also where a row has several labels."""

import time

import numpy as np
import pytest

from kerascompact.datasets.base import Split
from kerascompact.datasets.splitting import classes_of, hold_out


def split_of(*sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    labels = np.random.default_rng(0).permutation(labels)
    return Split([f"text {i}" for i in range(len(labels))], labels)


@pytest.mark.parametrize(
    ("sizes", "count", "quotas"),
    [
        ((10, 10), 4, [2, 2]),
        ((10, 10), 5, [3, 2]),  # equal remainders: the smaller label first
        ((70, 20, 10), 10, [7, 2, 1]),
        ((75, 15, 10), 10, [8, 1, 1]),  # 7.5, 1.5, 1.0
        ((97, 2, 1), 10, [10, 0, 0]),  # 9.7, 0.2, 0.1
        ((1, 1, 98), 50, [0, 0, 50]),  # a class of one row stays behind
        ((2, 2, 2), 3, [1, 1, 1]),
        ((1, 9), 8, [0, 8]),
        ((50, 2), 50, [49, 1]),
        ((*[1] * 500, 100, 1000), 159, [*[0] * 500, 14, 145]),  # 14.45 and 144.55
    ],
)
def test_hold_out_is_in_proportion(sizes, count, quotas):
    rest, held = hold_out(split_of(*sizes), count)
    assert np.bincount(held.labels, minlength=len(sizes)).tolist() == quotas
    assert len(rest.texts) == sum(sizes) - count
    assert set(rest.labels) == set(range(len(sizes)))


@pytest.mark.parametrize("balanced", [True, False])
def test_hold_out_parts_the_rows(balanced):
    whole = split_of(30, 20, 10)
    rest, held = hold_out(whole, 25, seed=3, balanced=balanced)
    rows = dict(zip(whole.texts, whole.labels, strict=True))
    assert sorted(rest.texts + held.texts) == sorted(whole.texts)
    for part in (rest, held):
        assert [rows[text] for text in part.texts] == part.labels.tolist()
        assert part.texts == [text for text in whole.texts if text in set(part.texts)]
        assert part.labels.dtype == np.int32


@pytest.mark.parametrize("balanced", [True, False])
def test_hold_out_is_seeded(balanced):
    whole = split_of(30, 30)
    first, again, other = (hold_out(whole, 20, s, balanced)[1].texts for s in (0, 0, 1))
    assert first == again != other


def test_hold_out_rejects():
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 4\]"):
        hold_out(split_of(3, 3), 5)
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 5\]"):
        hold_out(split_of(3, 3), 6, balanced=False)
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 4\]"):
        hold_out(split_of(3, 3), 0.5)
    with pytest.raises(ValueError, match="more rows than classes.*2 rows of 2 classes"):
        hold_out(split_of(1, 1), 1)
    with pytest.raises(ValueError, match="`seed` must be an integer >= 0"):
        hold_out(split_of(3, 3), 1, seed=-1)
    with pytest.raises(ValueError, match="`balanced` must be True or False"):
        hold_out(split_of(3, 3), 1, balanced=1)


def quotas_by_bisection(sizes, count):
    """`sum(min(c n, n - 1)) = count`, with the `c` found by bisection; then largest remainders."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        less = np.minimum(middle * sizes, sizes - 1).sum() < count
        low, high = (middle, high) if less else (low, middle)
    exact = np.round(np.minimum(high * sizes, sizes - 1), 9)
    found = np.floor(exact).astype(int)
    order = sorted(range(len(sizes)), key=lambda label: (found[label] - exact[label], label))
    for label in order[: count - found.sum()]:
        found[label] += 1
    return found.tolist()


@pytest.mark.parametrize("seed", range(5))
def test_hold_out_of_many_classes(seed):
    random = np.random.default_rng(seed)
    sizes = random.choice([1, 2, 3, 8, 64], 20)  # exact in binary, so that no remainder is rounded
    sizes[0] += 256 - sizes.sum() if sizes.sum() < 256 else 512 - sizes.sum()
    count = int(random.integers(1, sizes.sum() - 20))
    _, held = hold_out(split_of(*sizes), count)
    assert np.bincount(held.labels, minlength=20).tolist() == quotas_by_bisection(sizes, count)


def test_hold_out_is_fast():
    """500,000 rows of 1,000 classes, most of them in one: 0.04 s."""
    labels = np.r_[np.zeros(400_000), np.arange(100_000) % 1000].astype(np.int32)
    split, start = Split(["a"] * len(labels), labels), time.perf_counter()
    rest, held = hold_out(split, 50_000)
    assert len(held.texts) == 50_000 and len(set(rest.labels.tolist())) == 1000
    assert time.perf_counter() - start < 2


def sets_of(*labels, classes=4):
    found = np.zeros((len(labels), classes), np.uint8)
    for row, names in enumerate(labels):
        found[row, list(names)] = 1
    return Split([f"text {row}" for row in range(len(labels))], found)


def test_the_rarest_label_is_the_class():
    labels = sets_of([0], [0, 1], [0, 2], [], [1], [0], [3, 1]).labels
    assert classes_of(labels).tolist() == [0, 1, 2, -1, 1, 0, 3]  # counts 4, 3, 1, 1


@pytest.mark.parametrize("seed", range(3))
def test_hold_out_leaves_every_label(seed):
    random = np.random.default_rng(seed)
    chances = np.array([0.5, 0.2, 0.02, 0.005])
    labels = (random.uniform(size=(400, 4)) < chances).astype(np.uint8)
    labels[seed, 3] = 1
    whole = Split([f"text {row}" for row in range(400)], labels)
    rest, held = hold_out(whole, 80, seed)
    assert rest.labels.any(axis=0).all() and rest.labels.dtype == np.uint8
    assert 76 <= len(held.texts) <= 80
    np.testing.assert_allclose(held.labels.mean(axis=0), labels.mean(axis=0), atol=0.06)
    assert sorted(rest.texts + held.texts) == sorted(whole.texts)
    np.testing.assert_array_equal(held.labels, labels[[int(t[5:]) for t in held.texts]])


def test_the_last_row_with_a_label_goes_back():
    whole = sets_of([0, 1], [0, 1], [0], [0], [0], [0], [1], [1, 0])
    for seed in range(20):
        rest, _ = hold_out(whole, 6, seed)
        assert rest.labels.any(axis=0).tolist() == [True, True, False, False]
