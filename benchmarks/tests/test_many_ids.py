"""The benchmark of many ids measures what it says, on few."""

import argparse

import pytest

from benchmarks.lib import processes
from benchmarks.product import many_ids


@pytest.fixture
def small(monkeypatch):
    for name, value in (("BATCH", 3), ("LENGTH", 5), ("WIDTH", 32), ("ANCHORS", 40)):
        monkeypatch.setattr(many_ids, name, value)


@pytest.mark.parametrize("arm", many_ids.ARMS)
def test_bytes_known_before_are_those_measured(arm, small):
    row = many_ids.measure(arm, 400, steps=1)
    known = many_ids.state_bytes(arm, 400)
    # beside them: integers, deferred steps, proposed columns and the classifier
    assert known < row["state_bytes"] < known + 400 * (2 * 32 + 16) + 60_000
    assert row["milliseconds"] > 0 and row["peak_bytes"] > row["state_bytes"]


def test_ten_million_ids_leave_three_methods():
    fit = [arm for arm in many_ids.ARMS if many_ids.state_bytes(arm, 10**7) <= many_ids.LARGEST]
    assert {arm.split(",")[0] for arm in fit} == {"sparse ANT", "HE", "TT"}
    assert many_ids.state_bytes("plain table", 10**7) == 3 * 4 * 10**7 * 128


def test_an_arm_that_does_not_fit_has_its_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(many_ids, "SIZES", (10**7,))
    made = {"milliseconds": 3.0, "cpu_milliseconds": 4.0, "state_bytes": 10**9}
    made["peak_bytes"] = 2 * 10**9
    monkeypatch.setattr(processes, "measure_apart", lambda *arguments: dict(made))
    rows = many_ids.benchmark("many_ids", argparse.Namespace())
    lines = many_ids.table(rows).splitlines()
    assert len(lines) == 2 + len(many_ids.ARMS)
    assert "| 10,000,000 | plain table | - | - | 15,360 | - |" in lines
    assert "| 10,000,000 | TT, rank 16 | 3.0 | 4.0 | 1,000 | 2,000 |" in lines
