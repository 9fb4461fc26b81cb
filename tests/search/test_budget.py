"""Budgets in bytes."""

import pytest

from kerascompact.search import budget


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("64KiB", 65_536),
        ("64kb", 64_000),
        (" 1.5 MiB ", 1_572_864),
        ("7B", 7),
        ("9", 9),
        (12, 12),
        ("64.1KB", 64_100),
        ("2.01kb", 2010),
        ("0.0019KB", 1),
    ],
)
def test_reads_units(given, expected):
    assert budget.in_bytes(given) == expected


@pytest.mark.parametrize("bad", ["", "KiB", "-1KiB", "64GB", "1e3", 0, 2.5, True, None, "0.5"])
def test_refuses_what_is_no_budget(bad):
    with pytest.raises(ValueError, match="`budget` must be"):
        budget.in_bytes(bad)


def test_several_are_sorted_and_distinct():
    assert budget.several(["64KiB", 16_384, "65536"]) == (16_384, 65_536)
    with pytest.raises(ValueError, match="`budget` must be"):
        budget.several([])


@pytest.mark.parametrize("size", [1, 999, 1000, 1024, 64_000, 65_536, 1_048_576, 2_000_000])
def test_a_shown_budget_reads_back(size):
    assert budget.in_bytes(budget.shown(size)) == size
