"""Rows of three pairs for models made again, on a tiny task."""

import argparse

import pytest

from benchmarks.lib import results, text_runs
from benchmarks.lib.text_runs import Spec
from benchmarks.product import reverify
from kerascompact.layers import MixtureEmbedding
from tiny_task import dataset

SPEC = Spec("tiny", "mixture", "mean", 30, 8, 4, clusters=4, unique=5, recipe="int8_tables")


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(text_runs.datasets, "load", lambda name, data_dir: dataset())
    for seed in (0, 1):  # seed 0 is made again
        row = {"spec": SPEC._replace(seed=seed)._asdict(), "label": "ME"}
        results.append("trec", row)
    monkeypatch.setattr(reverify, "SETS", ("tiny",))
    monkeypatch.setattr(reverify, "EPOCHS", 1)
    monkeypatch.setattr(reverify, "of_phone", lambda data_dir: iter(()))


def test_a_row_of_a_committed_row():
    (row,) = reverify.benchmark("reverify", argparse.Namespace(data=None))
    assert row["spec"]["of"] == "trec" and row["spec"]["recipe"] == "int8_tables"
    assert row["rows"] == 60 and row["error"] is None
    assert row["trained_frozen"]["largest"] < 1e-6 < row["trained_file"]["largest"]
    assert row["held_to"]["trained_file"] is None  # int8 rounds
    again = reverify.benchmark("reverify", argparse.Namespace(data=None))
    assert again == [row]  # from its file
    lines = reverify.table([row]).splitlines()
    assert len(lines) == 3 and lines[-1].startswith("| trec | ME | int8_tables | 60 | 100.00 %, ")
    assert lines[-1].endswith(" | yes |")


def test_a_disagreement_is_kept(monkeypatch):
    right = MixtureEmbedding.to_form

    def wrong(layer):
        form = right(layer)
        for weight in form.weights:
            if weight.dtype == "float32":
                weight.assign(-weight)
        return form

    monkeypatch.setattr(MixtureEmbedding, "to_form", wrong)
    (row,) = reverify.benchmark("reverify", argparse.Namespace(data=None))
    assert row["error"].startswith("The frozen model does not predict what the trained model does")
    assert row["frozen_file"]["agreement"] == 1
    assert "does not predict" in reverify.table([row])
