"""Figure 4 of the KD paper: its grid, its table and its picture, on a few made-up questions."""

import argparse

import pytest

from benchmarks.kd_codes import code_sizes
from benchmarks.lib import text_runs
from made_up_questions import DATA

SMALL = {"size": 20, "length": 6, "width": 8, "epochs": 1, "batch_size": 40}


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(text_runs.datasets, "load", lambda *_: DATA)
    monkeypatch.setattr(code_sizes, "BASES", (code_sizes.BASES[0]._replace(**SMALL),))
    monkeypatch.setattr(code_sizes, "SIZES", ((4, 4), (8, 4), (8, 2)))


def arguments(**changes):
    return argparse.Namespace(**{**dict(data=None, seeds=None, epochs=None, verbose=0), **changes})


def test_one_of_both_sizes_grows_while_the_other_stays(tmp_path):
    pytest.importorskip("matplotlib")
    rows = code_sizes.benchmark("code_sizes", arguments(seeds=[0]))
    found = {(*code_sizes.sizes_of(row), code_sizes.composition(row)) for row in rows}
    assert found == {(*size, kind) for size in code_sizes.SIZES for kind in ("sum", "lstm")}
    lines = code_sizes.table(rows[::-1]).splitlines()
    assert [line.split(" | ")[1:4] for line in lines[2:]] == [
        ["4", "4", "8"], ["8", "4", "12"], ["8", "2", "6"]
    ]  # fmt: skip
    assert (tmp_path / "code_sizes.png").read_bytes()[:4] == b"\x89PNG"
    points = code_sizes._points(rows, 0)
    assert {k for k, *_ in points} == {4, 8} and all(0 <= height <= 100 for _, height, _ in points)
