"""Rows of tables of few bits, on a tiny task."""

import argparse

import pytest

from benchmarks.lib import results
from benchmarks.product import few_bits, phone
from benchmarks.product.few_bits import NORMAL, RECIPES, VALUES, Spec
from kerascompact import datasets
from tiny_task import dataset

TINY = {"SE": phone.Arm("standard", {}), "LR": phone.Arm("low_rank", {"ratio": 0.9})}


def test_rows_and_their_table(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(datasets, "load", lambda *_: dataset())
    monkeypatch.setattr(phone, "ARMS", TINY)
    for name, size in {"WORDS": 30, "WIDTH": 16, "LENGTH": 8, "RUNS": 20}.items():
        monkeypatch.setattr(phone, name, size)
    specs = [Spec(arm, "tiny", 30, 16, 8, epochs=2) for arm in TINY]
    specs.append(Spec(NORMAL, words=2000, width=16, length=8))
    monkeypatch.setattr(few_bits, "RUNS", specs)
    arguments = argparse.Namespace(data=None, seeds=[1], epochs=None)
    rows = few_bits.benchmark("few_bits", arguments)
    assert [list(row["files"]) for row in rows] == [
        [*RECIPES, VALUES],
        [*RECIPES],
        [*RECIPES, VALUES],
    ]
    assert all(file["agreement"] == 1 for row in rows[:2] for file in row["files"].values())
    for row in rows:
        assert row["files"]["float32"]["relative_error"] < 1e-6
    normal = rows[2]["files"]
    errors = [normal[name]["relative_error"] for name in ("codes2", "codes3", "codes4", "int8")]
    assert errors == sorted(errors, reverse=True) and errors[2] < normal["int4"]["relative_error"]
    assert few_bits.benchmark("few_bits", arguments) == rows  # from its file
    lines = few_bits.table(rows).splitlines()
    assert len(lines) == 2 + 7 + 6 + 7 and lines[-1].endswith("| - | - | - | - |")


def test_what_four_bits_lose():
    groups = {}
    for row in results.rows("few_bits"):
        groups.setdefault(row["spec"]["arm"], []).append(row["files"])

    def lost(arm, recipe):
        found = [100 * (one["float32"]["test"] - one[recipe]["test"]) for one in groups[arm]]
        assert len(found) == 3
        return sum(found) / 3

    assert lost("SE", "codes4") <= 0.2 < lost("SE", "int4")
    assert lost("LR", "codes4") < 1 < lost("LR", "int4")
    for one in groups[NORMAL]:
        assert one["codes4"]["relative_error"] < 0.09 and one[VALUES]["relative_error"] < 0.1
        assert one["int4"]["relative_error"] == pytest.approx(0.115, abs=2e-3)
