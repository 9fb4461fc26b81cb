"""Rows of fine-tuned 4-bit tables, on a tiny task."""

import argparse

import pytest

from benchmarks.product import aware
from benchmarks.product.aware import RECIPES, TUNED, Spec
from kerascompact import datasets
from tiny_task import dataset


def test_rows_and_their_table(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(datasets, "load", lambda *_: dataset())
    spec = Spec("standard", 4, {}, "tiny", 30, 8, epochs=2, tuning_epochs=2)
    monkeypatch.setattr(aware, "RUNS", [spec])
    arguments = argparse.Namespace(data=None, seeds=[1], epochs=None, verbose=0)
    (row,) = aware.benchmark("aware", arguments)
    assert row["spec"]["seed"] == 1 and list(row["files"]) == [*RECIPES, TUNED]
    sizes = [row["files"][name]["bytes"] for name in RECIPES]
    assert sizes == sorted(sizes, reverse=True)
    assert row["files"][TUNED]["bytes"] == pytest.approx(sizes[-1], abs=64)
    assert all(file["agreement"] == 1 for file in row["files"].values())
    assert aware.benchmark("aware", arguments) == [row]  # from its file
    lines = aware.table([row]).splitlines()
    assert len(lines) == 6 and lines[-1].startswith("| SE, d = 4 | int4_tables, fine-tuned | 1 |")
