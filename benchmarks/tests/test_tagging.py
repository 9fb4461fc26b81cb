"""Taggers of a made-up language: what a word is follows from it, and sometimes from the next."""

import argparse
import json

import numpy as np
import pytest

from benchmarks.data.tagged import make_corpus
from benchmarks.lib import results
from benchmarks.sparseness import tagging, tagging_specs
from benchmarks.sparseness.sentences import SentenceBatches, encode
from benchmarks.sparseness.tagging_specs import LONGER, Spec

TAGS = ("A", "B", "C")


def sentences(count, seed):
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        numbers = np.minimum(random.zipf(1.4, random.integers(1, 9)), 40)
        found.append([(f"w{n}", TAGS[n % 3]) for n in numbers])
    return found


@pytest.fixture(scope="module")
def data():
    splits = {"train": sentences(120, 0), "dev": sentences(30, 1), "test": sentences(40, 2)}
    splits["test"].append([("new", "A"), ("w1", "B")])
    return encode(make_corpus("made", splits, ""))


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))


def test_numbers_words_as_they_are_written():
    one = [[("The", "D"), ("cat", "N")], [("the", "D"), ("cat", "N"), ("The", "D")]]
    data = encode(make_corpus("x", {"train": one, "dev": [[("dog", "N")]], "test": one}, ""))
    assert data.vocabulary.words == ("The", "cat", "the")
    np.testing.assert_array_equal(data.train.ids, [[2, 3, 0], [4, 3, 2]])
    np.testing.assert_array_equal(data.train.tags, [[0, 1, 0], [0, 1, 0]])
    np.testing.assert_array_equal(data.train.words, [[1, 1, 0], [1, 1, 1]])
    np.testing.assert_array_equal(data.dev.ids, [[1]])
    assert data.once.tolist() == [False, False, False, False, True]


def test_batches_hide_words_that_are_there_once(data):
    batches = SentenceBatches(data.train, 16, data.once, unknown=0.5, seed=3)
    kept = hidden = words = 0
    for _ in range(20):
        for ids, tags, weights in (batches[i] for i in range(len(batches))):
            assert ids.shape == tags.shape == weights.shape
            np.testing.assert_array_equal(weights, ids != 0)
            words += weights.sum()
            kept, hidden = kept + data.once[ids].sum(), hidden + np.sum(ids == 1)
        batches.on_epoch_end()
    assert words == 20 * data.train.words.sum()
    assert kept + hidden == 20 * data.once.sum()
    assert 0.3 < hidden / (kept + hidden) < 0.7
    never = SentenceBatches(data.train, 16, data.once, unknown=0.0)
    assert not any(np.any(never[i][0] == 1) for i in range(len(never)))


def test_a_run_learns_and_its_file_is_keras_on_every_token(data):
    spec = Spec(width=6, density=0.5, epochs=6, batch_size=20, falling=False)
    row = tagging.run(spec, data)
    assert row["dev_accuracy"] > 0.8 and row["best_epoch"] <= 6 == len(row["dev_by_epoch"])
    assert row["argmax_agreement"] == row["int8_argmax_agreement"] == 1.0
    assert row["test_accuracy"] == row["file_accuracy"] > 0.8
    words = len(data.vocabulary)
    assert abs(row["embedding_parameters"] - 0.5 * 6 * words) <= 1
    lstms, dense = 2 * 4 * 10 * (6 + 10 + 1), 10 * 21 + 3 * 11
    assert row["parameters"] == row["embedding_parameters"] + lstms + dense
    # bins of the embedding: an id, a length and an offset each
    assert row["stored_bytes"] - 4 * row["parameters"] <= 12 * 6
    # two loops with masks: 11 KB of graph, and 6 KB for numbers in place of names
    assert row["file_bytes"] <= 1.02 * row["stored_bytes"] + 18 * 1024
    assert json.loads(json.dumps(row))["spec"]["order"] == "up"


def test_the_benchmark_keeps_rows_and_draws_them(data, monkeypatch, tmp_path):
    few = [Spec(width=3), Spec(width=20, density=0.1), Spec(width=20, density=0.1, order=None)]
    monkeypatch.setitem(tagging.BENCHMARKS, "tagging", few)
    monkeypatch.setattr(tagging, "encode", lambda corpus: data)
    monkeypatch.setitem(tagging.LOADERS, "ud_english_ewt", lambda folder: None)
    arguments = argparse.Namespace(data=None, seeds=[0], epochs=1, verbose=0)
    rows = tagging.benchmark("tagging", arguments)
    assert [row["label"] for row in rows] == [
        "dense 3",
        "sparse 20 at 0.1, up",
        "sparse 20 at 0.1, no sorting",
    ]
    assert len(results.rows("tagging")) == 3
    pytest.importorskip("matplotlib")
    assert (tmp_path / "tagging.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(tagging, "run", None)
    assert tagging.benchmark("tagging", arguments) == rows
    assert "| dense 3 | 0.1, 0, 0 | 0.1 | 1 | 1 |" in tagging.table(rows)


def row(spec, dev):
    return {"spec": spec._asdict(), "dev_accuracy": dev, "label": spec.label}


def test_the_best_trial_on_dev_is_picked_of_points_with_all_trials():
    up, down, unsorted = tagging.TRIED[:3]
    for place, numbers in enumerate(tagging.TRIALS):
        for spec, dev in ((up, 0.9 - place / 100), (down, 0.5 + place / 100)):
            one = tagging.trial(spec, numbers)._replace(epochs=tagging.DEV_EPOCHS)
            results.append("tagging_dev", row(one, dev))
    one = tagging.trial(unsorted, tagging.TRIALS[1])._replace(epochs=tagging.DEV_EPOCHS)
    results.append("tagging_dev", row(one, 0.99))  # of one trial alone
    assert tagging.picked() == [up, tagging.trial(down, tagging.TRIALS[-1])]
    assert len(tagging.BENCHMARKS["tagging_dev"]) == len(tagging.TRIALS) * len(tagging.TRIED)


def test_larger_lstms_are_points_of_their_own():
    specs = [Spec(width=2), *tagging_specs.LARGER]
    found = tagging.best_groups([row(spec, 0.5) for spec in specs])
    assert [*found] == [(2, 1, "up", 10), (50, 1, "up", 50), (2, 1, "up", 50), (50, 0.04, "up", 50)]
    assert specs[1].label == "dense 50, LSTM of 50" and specs[0].label == "dense 2"


def test_the_setting_that_is_best_on_dev_stands_for_its_point():
    wide, longer = Spec(start=1.0), Spec(epochs=40)
    pairs = ((Spec(), 0.5), (wide, 0.6), (Spec(seed=1), 0.55), (wide._replace(seed=1), 0.52))
    rows = [row(spec, dev) for spec, dev in (*pairs, (longer, 0.9))]
    (group,) = tagging.best_groups(rows).values()
    assert [one["dev_accuracy"] for one in group] == [0.6, 0.52]


def test_the_runs_are_those_of_the_paper():
    specs = [spec for spec in tagging.BENCHMARKS["tagging"] if spec not in LONGER]
    assert sorted(spec.width for spec in specs if spec.density == 1) == [1, 2, 3, 5, 10, 20]
    assert {s.density for s in specs if s.order == "up" and s.width == 20} >= {0.05, 0.15, 1.0}
    others = {(s.density, s.order) for s in specs if s.order != "up"}
    assert others == {(0.25, None), (0.25, "down"), (0.1, None), (0.1, "down")}
