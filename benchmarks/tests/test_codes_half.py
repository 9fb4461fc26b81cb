"""The benchmark of bfloat16 logits measures what it says, on a small vocabulary."""

import argparse

import pytest

from benchmarks.kd_codes import codes_half
from benchmarks.lib import processes, results


def test_bfloat16_holds_half_the_bytes_of_logits_and_moments(monkeypatch):
    monkeypatch.setattr(codes_half, "STEPS", 1)
    # Earlier tests may have left this process room enough, so the kernel's counts are set here.
    counts = {"VmRSS": 100, "VmHWM": 150}
    monkeypatch.setattr(processes, "memory", counts.get)
    full, half = (codes_half.memory(dtype, 40, False) for dtype in codes_half.DTYPES)
    assert full["held_bytes"] - half["held_bytes"] == 3 * 2 * 40 * 32 * 32
    assert full["peak_bytes"] == half["peak_bytes"] == 50
    row = codes_half.milliseconds(40, jit_compile=True)
    assert row["ratio"] > 0 and min(row["milliseconds"].values()) > 0
    assert codes_half.model_of("bfloat16", 40, True).jit_compile


@pytest.mark.parametrize("fails", [False, True])
def test_times_are_measured_at_the_smaller_size(fails, monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(codes_half, "SIZES", (10, 20))

    def measured(module, what, size, jit_compile):
        if what == "times":
            times = {"milliseconds": {"float32": 1.0, "bfloat16": 2.0}, "ratio": 2.0}
            return None if fails else times
        return {"held_bytes": 2e6, "peak_bytes": 3e6}

    monkeypatch.setattr(processes, "measure_apart", measured)
    rows = codes_half.benchmark("codes_half", argparse.Namespace())
    assert rows == results.rows("codes_half") and len(rows) == 4
    lines = codes_half.table(rows).splitlines()[2:]
    end = "- | - | -" if fails else "1.0 | 2.0 | 2.00"
    assert lines[0] == f"| 10 | False | 2 | 2 | 3 | 3 | {end} |"
    assert lines[3] == "| 20 | True | 2 | 2 | 3 | 3 | - | - | - |"
