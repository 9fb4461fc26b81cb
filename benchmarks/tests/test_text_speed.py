"""The benchmark from bytes to class, on a task of seconds and without MediaPipe."""

import argparse

import pytest

import tiny_task
from benchmarks.lib import results
from benchmarks.product import text_speed
from kerascompact import datasets


@pytest.mark.slow
def test_every_arm_that_can_run_has_its_time(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(datasets, "load", lambda name, folder: tiny_task.dataset())
    monkeypatch.setattr(text_speed, "SETS", {"trec": 10})
    monkeypatch.setattr(text_speed, "ROUNDS", 2)
    monkeypatch.setattr(text_speed, "python_with_mediapipe", lambda: None)
    arguments = argparse.Namespace(data=None, sets=None, work=str(tmp_path))
    (row,) = text_speed.benchmark("text_speed", arguments)
    assert [*row["arms"]] == [arm for arm in text_speed.ARMS if arm != "MediaPipe"]
    assert "MediaPipe is left out" in capsys.readouterr().out
    assert row["texts"] == 60
    for arm in row["arms"].values():
        assert arm["microseconds"] > 0 and arm["bytes"] > 0 and arm["accuracy"] > 0.4
    alike = [row["arms"][arm]["accuracy"] for arm in ("ours, ids", "ours, text in")]
    assert alike[0] == alike[1]
    assert text_speed.benchmark("text_speed", arguments) == [row] == results.rows("text_speed")
    assert text_speed.table([row]).count("\n") == 1 + len(row["arms"])
