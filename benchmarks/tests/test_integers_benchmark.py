"""Rows of files of integers, on a tiny task."""

import argparse

import numpy as np
import pytest

from benchmarks.product import integers
from benchmarks.product.integers import EXPORTERS, NETWORKS, Spec
from kerascompact import datasets
from tiny_task import dataset


def test_rows_and_their_table(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(datasets, "load", lambda *_: dataset())
    tiny = {"rows": 4, "dataset": "tiny", "size": 30, "length": 8, "width": 4, "epochs": 1}
    monkeypatch.setattr(integers, "NETWORKS", dict([*NETWORKS.items()][::3]))
    monkeypatch.setattr(integers, "Spec", lambda network: Spec(network, **tiny))

    def refuse(model, rows):
        raise RuntimeError("no such operator")

    monkeypatch.setitem(EXPORTERS, "litert-quantizer, static int8", refuse)
    arguments = argparse.Namespace(data=None, seeds=[1], epochs=None, verbose=0)
    rows = integers.benchmark("integers", arguments)
    assert [row["label"] for row in rows] == list(integers.NETWORKS)
    for row in rows:
        files = row["files"]
        assert files["litert-quantizer, static int8"] == {"refused": "no such operator"}
        assert files["ours, int8 kernels"]["error"] < 0.03
    assert rows[0]["files"]["ours, full_int8"]["error"] < 0.1
    assert integers.benchmark("integers", arguments) == rows  # from its file
    lines = integers.table(rows).splitlines()
    assert len(lines) == 2 + 2 * (1 + len(EXPORTERS))
    assert lines[6].endswith("| 1 | none | - | - | - |")


def test_integers_of_an_output_stand_for_numbers():
    pytest.importorskip("litert_quantizer")
    model = integers.keras.Sequential(
        [integers.keras.Input((3,), dtype="int32", name="ids"), integers.layers.Embedding(9, 2)]
    )
    rows = np.arange(9, dtype="int32").reshape(3, 3)
    found = integers.logits_of(integers.by_quantizer(model, "static_wi8_ai8", rows), rows)
    np.testing.assert_allclose(found, model.predict(rows, verbose=0), atol=2e-3)
