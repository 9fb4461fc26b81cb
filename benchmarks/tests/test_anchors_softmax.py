"""A small run of each gradient: what it writes, and that its rows are kept."""

import pytest

from benchmarks.anchors import anchors_softmax
from benchmarks.lib import results


@pytest.mark.parametrize("arm", ["dense", "sparse 0.1", "sampled"])
def test_measures_a_step(arm, monkeypatch):
    monkeypatch.setattr(anchors_softmax, "SAMPLED", 5)
    row = anchors_softmax.measure(arm, words=600, anchors=4, warm=2, timed=3)
    assert (row["rows_written"] == 600) == (arm == "dense")
    assert row["rows_written"] > 0 and row["cpu_milliseconds"] > 0 and row["loss"] > 0


def test_prints_a_line_for_each_row(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    facts = dict(milliseconds=1.0, cpu_milliseconds=2.0, peak_bytes=3e6, rows_written=4, loss=5.0)
    for arm in anchors_softmax.ARMS:
        spec = dict(words=10_000, anchors=500, width=200, gradient=arm)
        results.append("anchors_softmax", {"spec": spec, **facts})
    rows = anchors_softmax.benchmark("anchors_softmax")  # nothing is left to measure
    assert len(rows) == len(anchors_softmax.ARMS)
    assert "| 10,000 | 500 | sampled | 1 | 2 | 4 | 3 | 5.00 |" in anchors_softmax.table(rows)
