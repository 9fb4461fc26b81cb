"""The benchmark of codes in training measures what it says, on a small vocabulary."""

import argparse

import pytest

from benchmarks.kd_codes import codes_speed
from benchmarks.lib import processes, results


@pytest.mark.parametrize("arm", codes_speed.ARMS)
def test_measures_an_arm(arm, monkeypatch):
    for name, small in (("BATCH", 4), ("LENGTH", 5)):
        monkeypatch.setattr(codes_speed, name, small)
    row = codes_speed.measure(arm, 40, jit_compile=False, steps=2)
    assert row["milliseconds"] > 0 and row["unique"] <= 20
    table = 4 * 40 * 300 * 3  # numbers and Adam's two moments
    codes = 4 * 3 * (40 * 32 * 32)  # of the logits alone
    assert row["training_bytes"] > (codes if arm.startswith("KD") else table)


def test_ratios_are_to_the_stock_layer_or_to_nothing(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(codes_speed, "SIZES", (10,))
    facts = {"V": 10, "optimizer": "LazyAdam", "training_bytes": 0, "peak_bytes": 0}

    def measured(module, arm, size, jit_compile):
        if jit_compile and arm == "SE":
            return None  # as when it fails
        slow = 1.0 if arm == "SE" else 2.0
        return {**facts, "method": arm, "jit_compile": bool(jit_compile), "milliseconds": slow}

    monkeypatch.setattr(processes, "measure_apart", measured)
    rows = codes_speed.benchmark("codes_speed", argparse.Namespace())
    ratios = {(row["method"], row["jit_compile"]): row["ratio"] for row in rows}
    assert ratios["KD", False] == 2.0 and ratios["KD", True] is None
    assert rows == results.rows("codes_speed") and len(rows) == 2 * len(codes_speed.ARMS) - 1
    assert capsys.readouterr().out.count("| - |") == len(codes_speed.ARMS) - 1
