"""The benchmark of dense and sparse transforms, on a few hundred rows, one epoch."""

import argparse

import pytest

from benchmarks.anchors import anchors_sparse
from kerascompact import layers
from kerascompact.tasks.classification import encode
from tiny_task import dataset

SMALL = {"size": 30, "length": 8, "width": 6, "epochs": 2, "batch_size": 32}


def spec_of(method):
    (found,) = [s for s in anchors_sparse.specs() if s.method == method and s.width == 32]
    return found._replace(**SMALL)


@pytest.mark.parametrize("method", anchors_sparse.METHODS)
def test_each_method_builds_its_layer(method):
    model = anchors_sparse.build(spec_of(method), encode(dataset(), 30, 8))
    layer = model.get_layer("embedding")
    assert isinstance(layer, layers.SparseAnchorEmbedding) == method.startswith("sparse")
    assert isinstance(layer, layers.AnchorTransformEmbedding) == ("ANT" in method)


def test_rows_and_their_table(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(anchors_sparse.datasets, "load", lambda name, data_dir: dataset())
    methods = ("SE", "sparse ANT, 16 entries")
    wanted = [spec_of(method) for method in methods]
    monkeypatch.setattr(anchors_sparse, "specs", lambda: wanted)
    given = argparse.Namespace(seeds=[0, 1], epochs=1, data=None, verbose=0)
    rows = anchors_sparse.benchmark("anchors_sparse", given)
    assert len(rows) == 4 and all(0 < row["test_accuracy"] <= 1 for row in rows)
    assert [row.get("entries", 0) <= 16 for row in rows] == [True] * 4
    lines = anchors_sparse.table(rows[::-1]).splitlines()
    assert [line.split(" | ")[1] for line in lines[2:]] == list(methods)
    assert {line.count("|") for line in lines} == {9}


def test_dev_rows_leave_test_untouched(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(anchors_sparse.datasets, "load", lambda name, data_dir: dataset())
    assert len({str(spec) for spec in anchors_sparse.grid()}) == 18
    wanted = [spec_of("sparse ANT, 16 entries")]
    monkeypatch.setattr(anchors_sparse, "grid", lambda: wanted)
    given = argparse.Namespace(seeds=None, epochs=1, data=None, verbose=0)
    (row,) = anchors_sparse.benchmark("anchors_sparse_dev", given)
    assert "test_accuracy" not in row and " | - | " in anchors_sparse.table([row])
