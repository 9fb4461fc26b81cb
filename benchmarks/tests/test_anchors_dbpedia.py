"""The arms of the benchmark on DBpedia, and their table."""

import argparse
from pathlib import Path

import pytest

from benchmarks.anchors import anchors_dbpedia, anchors_text
from benchmarks.anchors.anchors_dbpedia import METHODS


def test_arms_have_the_strengths_that_dev_of_ag_news_chose(monkeypatch):
    given = {}
    monkeypatch.setattr(anchors_text, "run_all", lambda *args, **options: given.update(all=args))
    arguments = argparse.Namespace(data="d", seeds=[0, 2], work="w", verbose=0)
    anchors_dbpedia.benchmark("ant_dbpedia", arguments)
    wanted, name = given["all"]
    assert name == "ant_dbpedia" and [spec.seed for spec in wanted[:: len(METHODS)]] == [0, 2]
    assert {(spec.dataset, spec.size, spec.epochs) for spec in wanted} == {
        ("dbpedia_subset", 46_332, 10)
    }
    for spec in wanted:
        if spec.first is not None:  # it is an arm itself, so that its model is trained once
            files = [other.file(Path("w")) for other in wanted]
            assert spec.first.file(Path("w")) in files
        weight = spec.options.get("l1_weight")
        assert weight in (None, 1e-2 if spec.options.get("num_anchors", 0) < 50 else 0.1)


def test_lines_are_in_the_order_of_the_arms():
    def row(method):
        spec = anchors_dbpedia.BASE._replace(method=method, options=METHODS[method])
        facts = dict.fromkeys((*anchors_text.BYTES, "embedding_parameters"), 1000)
        scores = dict.fromkeys(("dev_accuracy", "soft_accuracy", "hard_accuracy"), 0.9)
        return {"spec": spec._asdict(), "label": method, **facts, **scores, "file_accuracy": 0.9}

    names = [*METHODS]
    lines = anchors_dbpedia.table([row(name) for name in names[::-1]]).splitlines()
    assert [line.split(" | ")[0][2:] for line in lines[2:]] == names
    with pytest.raises(ValueError, match="not in list"):
        anchors_text.table([row("ANT 80 clusters")])
