"""A process of its own: its row, its failure, its memory."""

import numpy as np
import pytest

from benchmarks.lib import processes, results


def test_the_last_line_is_the_row(tmp_path, monkeypatch):
    (tmp_path / "measures_itself.py").write_text(
        "import json, sys\nprint('a warning')\nprint(json.dumps({'got': sys.argv[1:]}))\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert processes.measure_apart("measures_itself", "KD codes", 3) == {"got": ["KD codes", "3"]}


def test_a_failure_is_told_and_gives_no_row(capsys):
    assert processes.measure_apart("no_such_module_at_all", "an arm") is None
    told = capsys.readouterr().err
    assert told.startswith("an arm: ") and "no_such_module_at_all" in told


@pytest.mark.parametrize(("faster", "expected"), [(None, 4.0), ("faster", 0.25)])
def test_arms_are_compared_with_the_first(faster, expected, monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    took = {"a": 1.0, "b": 4.0, "c": 9.0}
    monkeypatch.setattr(
        processes,
        "measure_apart",
        lambda module, arm, size: {"arm": arm, "milliseconds": took[arm]},
    )
    options = {"faster": faster}
    rows = processes.compare("module", "name", took, (3,), str, left_out=("c",), **options)
    assert [row["arm"] for row in rows] == ["a", "b"]
    assert rows[1][faster or "ratio"] == expected and results.rows("name") == rows
    rows = processes.compare("module", "name", took, (3,), str, left_out=("a",), **options)
    assert [row[faster or "ratio"] for row in rows] == [None, None]


def test_the_peak_is_what_was_held_at_most_since_it_was_forgotten():
    block = np.ones(25_000_000)  # 200 MB
    del block
    processes.forget_peak()
    before = processes.memory("VmHWM")
    block = np.ones(12_500_000)
    assert processes.memory("VmHWM") - before > 0.8 * block.nbytes
