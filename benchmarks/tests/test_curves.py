"""Curves of the cluster paper, from made-up texts."""

import argparse

import numpy as np
import pytest

from benchmarks.clusters import cluster_words, curves, small_rnn
from benchmarks.lib import results, text_runs
from benchmarks.lib.text_runs import Spec
from tiny_task import dataset

TINY = Spec("ag_news", "mixture", "mean", 30, 8, 4, clusters=4, unique=5, epochs=1, batch_size=16)
ARGUMENTS = argparse.Namespace(data=None, seeds=None, epochs=None, verbose=0)


@pytest.fixture(autouse=True)
def tiny(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(text_runs.datasets, "load", lambda name, data_dir: dataset())


def test_rows_of_the_trials_on_dev_are_taken_and_the_rest_is_run(monkeypatch, tmp_path):
    known = TINY._replace(width=2)
    text_runs.run_all([known], "ag_news_dev", test=False)
    monkeypatch.setattr(curves, "FIGURES", {"3a": ("width", [known, TINY]), "3c": ("size", [TINY])})
    rows = curves.benchmark("ag_news_curves", ARGUMENTS)
    assert len(rows) == 2 and rows[0] == results.rows("ag_news_dev")[0]
    assert not any(key.startswith("hard") for key in rows[1])
    lines = curves.table(rows).splitlines()[2:]
    assert [line[:27] for line in lines] == [
        "| 3a | ME(k=4, m=2, u=5, v=",
        "| 3a | ME(k=4, m=4, u=5, v=",
        "| 3c | ME(k=4, m=4, u=5, v=",
    ]
    pytest.importorskip("matplotlib")
    assert (tmp_path / "ag_news_curves.png").read_bytes().startswith(b"\x89PNG")


def test_shares_of_the_training_rows(monkeypatch, tmp_path):
    monkeypatch.setitem(curves.AT_FULL, "ag_news_shares", (TINY,))
    monkeypatch.setattr(curves, "SHARES", (0.25, 1.0))
    two = argparse.Namespace(**{**vars(ARGUMENTS), "seeds": [0, 1]})
    rows = curves.benchmark("ag_news_shares", two)
    assert [row["train_rows"] for row in rows] == [60, 60, 240, 240]
    assert [row["spec"]["epochs"] for row in rows] == [2, 2, 1, 1]
    assert [row["spec"]["seed"] for row in rows] == [0, 1, 0, 1]
    found = 100 * np.array([row["file_accuracy"] for row in rows])
    low, *_ = shown = [
        f"{pair.mean():.2f} ± {pair.std(ddof=1):.2f}" for pair in (found[:2], found[2:])
    ]
    assert curves.table(rows).splitlines() == [
        "| model | seeds | 25% | 100% |",
        "|---|---|---|---|",
        f"| ME(k=4, m=4, u=5, v=30) | 2 | {shown[0]} | {shown[1]} |",
    ]
    alone = f"| ME(k=4, m=4, u=5, v=30) | 1 to 2 | {low} | {found[2]:.2f} |"
    assert curves.table(rows[:3]).splitlines()[-1] == alone
    pytest.importorskip("matplotlib")
    assert (tmp_path / "ag_news_shares.png").read_bytes().startswith(b"\x89PNG")


def test_one_thing_grows_along_each_curve_of_figure_3():
    for figure, (key, specs) in curves.FIGURES.items():
        runs = [spec._asdict() for spec in specs]
        if figure[0] == "3":
            grown = [run[key] for run in runs]
            assert grown == sorted(set(grown))
            left_out = {key, "method", "options"} if figure == "3b" else {key}  # CE is u = 0
            others = [{k: run[k] for k in run if k not in left_out} for run in runs]
            assert all(other == others[0] for other in others)


def test_words_of_clusters_are_counted():
    spec = TINY._replace(method="cluster", unique=0, epochs=3)
    data = text_runs.load(spec)
    row = cluster_words.run(spec, data)
    assert sum(cluster["words"] for cluster in row["clusters"]) == len(data.vocabulary) - 2
    tokens = [cluster["tokens"] for cluster in row["clusters"]]
    assert tokens == sorted(tokens, reverse=True)
    assert sum(tokens) == np.count_nonzero(data.train.ids > 1)
    first = row["clusters"][0]
    line = cluster_words.table([row]).splitlines()[2]
    assert line.startswith(f"| {first['words']} | {100 * tokens[0] / sum(tokens):.1f} | ")
    assert line.endswith(" ".join(first["frequent"][:9]) + " |")


def test_area_of_states_and_their_picture(tmp_path):
    states = np.array([[-1.0, -1.0], [-0.99, -0.99], [1.0, 1.0], [0.0, 0.5]])
    assert small_rnn.area(states) == 3 / small_rnn.CELLS**2
    row = {
        "spec": {"dataset": "tiny", "width": 2},
        "states": states.tolist(),
        "labels": [0, 1, 1, 0],
    }
    pytest.importorskip("matplotlib")
    path = small_rnn.draw([row], tmp_path / "rnn.png")
    assert path.read_bytes().startswith(b"\x89PNG")
