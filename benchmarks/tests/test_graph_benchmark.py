"""Runs on a made-up graph whose features and edges tell the class."""

import argparse

import numpy as np
import pytest

from benchmarks.data.planetoid import CitationGraph
from benchmarks.kd_codes import graph
from benchmarks.kd_codes.graph import Spec
from benchmarks.lib import results

sparse = pytest.importorskip("scipy.sparse")


def made_up(nodes=60, features=30):
    random = np.random.default_rng(0)
    labels = np.arange(nodes) % 3
    # a third of the features for each class, and one in ten of the others
    of_class = np.arange(features)[None] % 3 == labels[:, None]
    dense = random.uniform(size=(nodes, features)) < np.where(of_class, 0.4, 0.1)
    edges = random.integers(0, nodes, (400, 2))
    edges = edges[labels[edges[:, 0]] == labels[edges[:, 1]]]
    parts = np.split(np.arange(nodes, dtype=np.int32), [15, 35])
    rows = sparse.csr_matrix(dense.astype(np.float32))
    labels = labels.astype(np.int32)
    return CitationGraph("cora", rows, edges, labels, 3, *parts, np.ones(nodes, bool), "made up")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(graph, "CARDINALITY", 8)
    monkeypatch.setattr(graph, "CODE_LENGTH", 4)
    monkeypatch.setattr(graph, "DATASETS", ("cora",))
    monkeypatch.setattr(graph.planetoid, "load", lambda name, data: made_up())


@pytest.mark.parametrize(
    ("method", "rank", "parameters", "bits"),
    [
        ("standard", 0, 30 * 16, 32 * 30 * 16),
        ("low_rank", 4, 4 * (30 + 16), 32 * 4 * (30 + 16)),
        ("kd", 0, 4 * 8 * 16, 30 * 4 * 3 + 32 * 4 * 8 * 16),
    ],
)
def test_a_row_says_what_came_out(method, rank, parameters, bits):
    spec = Spec("cora", method, rank, learning_rate=0.05, epochs=30)
    row = graph.run(spec, made_up())
    assert row["test_accuracy"] > 0.6, "one in three by chance"
    assert row["embedding_parameters"] == parameters
    assert row["paper_bits"] == row["stored_bits"] == bits
    assert 1 <= row["best_epoch"] <= row["epochs"] <= 30


def test_the_papers_numbers_of_parameters():
    counts = {"cora": (22.93, 10.14, 5.8), "citeseer": (59.25, 26.03, 14.88)}
    for (dataset, expected), features in zip(counts.items(), (1433, 3703), strict=True):
        for spec, thousands in zip(graph.specs(dataset), expected, strict=False):
            embedding = graph.build_embedding(spec, features)
            embedding.build()
            assert abs(graph.parameters(embedding) / 1000 - thousands) < 0.006  # two digits printed


def test_codes_may_be_guided_by_the_full_table():
    spec = Spec("cora", "kd", epochs=3, options={"guidance": 100.0})
    rows = [graph.run(one, made_up()) for one in (spec, spec._replace(options={}))]
    assert rows[0]["dev_cross_entropy"] != rows[1]["dev_cross_entropy"]


def test_without_test_the_test_nodes_stay_untouched():
    found = made_up()
    found.labels[found.test] = -7
    assert "test_accuracy" not in graph.run(Spec("cora", "standard", epochs=2), found, test=False)


def test_settings_are_tried_on_dev_alone(monkeypatch):
    monkeypatch.setattr(graph, "TRIED", [{**graph.TRIED[-1], "epochs": 2}])
    arguments = argparse.Namespace(data=None, seeds=None, verbose=0)
    rows = graph.benchmark("graph_dev", arguments)
    assert [row["spec"]["seed"] for row in rows] == [100, 101]
    assert rows[0]["spec"]["options"] == graph.TRIED[-1]["options"]
    assert not any("test_accuracy" in row for row in rows)


def test_same_seed_same_row_and_untrained_tables_start_alike():
    first, second = (graph.run(Spec("cora", "kd", epochs=3), made_up()) for _ in range(2))
    first.pop("train_seconds"), second.pop("train_seconds")
    assert first == second
    for spec in graph.specs("cora"):
        embedding = graph.build_embedding(spec, 1433)
        deviation = np.std(embedding(np.arange(1433))) / spec.start
        assert abs(deviation - (2 / 1449) ** 0.5) < 0.004  # ranks of 4 vary most


def test_benchmark_goes_on_where_it_was(monkeypatch, capsys):
    fast = [spec._replace(epochs=2) for spec in graph.specs("cora")]
    assert [spec.label for spec in fast] == ["SE", "LR 7", "LR 4", "KD", "KD, guided"]
    fast.pop()
    monkeypatch.setattr(graph, "specs", lambda dataset: fast)
    arguments = argparse.Namespace(data=None, seeds=[0], verbose=0)
    rows = graph.benchmark("tiny", arguments)
    assert [row["label"] for row in rows] == ["SE", "LR 7", "LR 4", "KD"]
    assert capsys.readouterr().out.count("| cora | KD | 1 |") == 1
    monkeypatch.setattr(graph, "run", lambda *args, **options: pytest.fail("ran again"))
    assert graph.benchmark("tiny", arguments) == rows == results.rows("tiny")
    again = [{**row, "spec": {**row["spec"], "seed": 1}} for row in rows]
    lines = graph.table(rows + again).splitlines()
    assert len(lines) == 6 and "| cora | KD | 2 |" in lines[-1]
