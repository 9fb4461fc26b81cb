"""Runs of a tied language model on a made-up text of few words."""

import argparse
import json

import keras
import numpy as np
import pytest

from benchmarks.anchors import anchors_ptb, tied_language
from benchmarks.anchors.tied_language import Spec
from benchmarks.data.ptb import Corpus
from benchmarks.lib import results
from kerascompact.knowledge import Graph
from kerascompact.models.language_model import ZarembaSize

pytestmark = pytest.mark.skipif(
    not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13"
)
WORDS = tuple("abcdefghijklmnopqrst")
ANCHORS = {"kind": "anchors", "num_anchors": 6, "l1_weight": 1e-2}


def text(tokens, seed):
    """Every word is one or two letters after the one before it."""
    steps = np.random.default_rng(seed).integers(1, 3, tokens)
    return (np.cumsum(steps) % len(WORDS)).astype(np.int32)


CORPUS = Corpus("letters", WORDS, text(800, 0), text(200, 1), text(203, 2), "made up")
NEIGHBOURS = Graph.from_pairs([(i, (i + 1) % 20) for i in range(20)], 20)


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    size = ZarembaSize(8, 0.0, 4, 0.3, 0.5, 2, 2, 0.5, batch_size=4)
    monkeypatch.setitem(tied_language.SIZES, "small", size)
    monkeypatch.setattr(tied_language, "related_words", lambda corpus, wordnet: NEIGHBOURS)
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))


def run(work, options, epochs=2, **more):
    spec = Spec("method", options, train_tokens=None, epochs=epochs)
    return tied_language.run(spec, CORPUS, work, work, verbose=0, **more)


def test_anchors_are_trained_counted_and_shipped(tmp_path):
    row = run(tmp_path, ANCHORS)
    # words follow each other by one of two steps: a perplexity of 2 at best, 20 without learning
    assert 1.9 < row["dev_perplexity"] < 25 and 1.9 < row["test_perplexity"] < 25
    assert 6 * 8 < row["embedding_parameters"] < 6 * 8 + 20 * 6  # some of T is zero
    assert row["paper_bits"] == 32 * row["embedding_parameters"]
    assert row["argmax_agreement"] == 1.0 and row["windows"] == 202 // 4
    assert len(row["dev_by_epoch"]) == 2
    assert json.loads(json.dumps(row))["spec"]["options"] == ANCHORS


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "low_rank", "ratio": 0.5},
        {"kind": "tensor_train", "ratio": 0.5},
        {"kind": "sparse_vd", "kl_weight": 1e-3},
        {"kind": "sparse_vd_voc", "kl_weight": 1e-3},
        {**ANCHORS, "related": True, "unrelated": 1e-3},
    ],
    ids=lambda options: options["kind"],
)
def test_every_kind_runs(options, tmp_path):
    row = run(tmp_path, options, epochs=1, test=False)
    assert 1.9 < row["dev_perplexity"] < 25
    assert 0 < row["embedding_parameters"] <= 20 * 8
    assert "test_perplexity" not in row and "file_bytes" not in row  # test is untouched


@pytest.mark.parametrize("kind", ["nearest", "k_svd"])
def test_what_is_compressed_afterwards_needs_the_trained_table(kind, tmp_path):
    options = {"kind": kind, "num_anchors": 5, "num_neighbors": 2}
    with pytest.raises(ValueError, match="run 'SE' first"):
        run(tmp_path, options)
    full = run(tmp_path, {"kind": "standard"}, test=False)
    assert full["embedding_parameters"] == 20 * 8 and full["stored_bits"] == 32 * 20 * 8
    row = run(tmp_path, options)
    assert row["embedding_parameters"] <= 20 * 2 + 5 * 8
    # of one model: no better, but for chance, than the table that it comes from
    assert 0.9 * full["dev_perplexity"] < row["dev_perplexity"] < 25
    assert row["argmax_agreement"] == 1.0


def test_training_goes_on_from_the_trained_table_or_its_k_svd(tmp_path):
    tuned = {"tuned": 1, "rate": 0.1}
    with pytest.raises(ValueError, match="run 'SE' first"):
        run(tmp_path, {"kind": "standard", **tuned})
    full = run(tmp_path, {"kind": "standard"}, test=False)
    sizes = {"num_anchors": 6, "num_neighbors": 3}
    before = run(tmp_path, {"kind": "k_svd", **sizes}, test=False)
    row = run(tmp_path, {"kind": "k_svd", **sizes, **tuned})
    assert len(row["dev_by_epoch"]) == 1 and row["dev_perplexity"] < before["dev_perplexity"]
    assert row["embedding_parameters"] <= 20 * 3 + 6 * 8 and row["argmax_agreement"] == 1.0
    still = run(tmp_path, {"kind": "k_svd", **sizes, "tuned": 1, "rate": 1e-9}, test=False)
    # read as four streams here, as one there
    assert abs(still["dev_perplexity"] / before["dev_perplexity"] - 1) < 0.1
    more = run(tmp_path, {"kind": "standard", **tuned}, test=False)
    assert more["dev_perplexity"] < full["dev_perplexity"]


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    run(tmp_path / "cut", ANCHORS, epochs=1, test=False)
    cut = run(tmp_path / "cut", ANCHORS, epochs=2, test=False)
    whole = run(tmp_path / "whole", ANCHORS, epochs=2, test=False)
    # weights, what rows owe, optimizer and rate come back; sums are taken in another order
    np.testing.assert_allclose(cut["dev_by_epoch"], whole["dev_by_epoch"], rtol=0.01)
    assert abs(cut["embedding_parameters"] - whole["embedding_parameters"]) <= 2


def test_related_anchors_are_frequent_words_with_free_entries():
    spec = Spec("knowledge", {**ANCHORS, "related": True, "unrelated": 0.1})
    layer = tied_language.build_embedding(spec, CORPUS, None)
    counts = np.bincount(CORPUS.train, minlength=20)
    (ids,) = layer.sets.ids
    assert min(counts[ids]) >= np.sort(counts)[-6]
    np.testing.assert_array_equal(layer.positive_pairs, NEIGHBOURS.to_anchors(ids, itself=True))
    drawn = {tuple(pair) for pair in layer.negative_pairs.tolist()}
    assert len(drawn) == 95 and not drawn & {tuple(pair) for pair in NEIGHBOURS.pairs().tolist()}


def test_the_benchmark_keeps_rows_and_its_choice_on_dev_does_not_train_twice(monkeypatch, tmp_path):
    monkeypatch.setattr(anchors_ptb, "METHODS", {"SE": {"kind": "standard"}, "ANT 6": ANCHORS})
    monkeypatch.setattr(anchors_ptb, "WIDE", ("SE",))
    wider = tied_language.SIZES["small"]._replace(units=16)
    monkeypatch.setitem(tied_language.SIZES, "small, 256 units", wider)
    monkeypatch.setattr(anchors_ptb, "GRID", {"ANT 6": ("l1_weight", (1e-2, 1e-1))})
    monkeypatch.setattr(anchors_ptb, "TRIALS", {})
    monkeypatch.setattr(anchors_ptb.ptb, "load", lambda data, tokens: CORPUS)
    arguments = argparse.Namespace(
        data=str(tmp_path), seeds=None, epochs=1, work=str(tmp_path / "w"), verbose=0, sizes=False
    )
    tried = anchors_ptb.benchmark("ant_ptb_dev", arguments)
    assert [row["spec"]["options"]["l1_weight"] for row in tried] == [1e-2, 1e-1]
    assert tried[0]["embedding_parameters"] > tried[1]["embedding_parameters"]
    assert "| ANT 6 | 0.01 | 1 | 1 |" in anchors_ptb.table(tried)
    rows = anchors_ptb.benchmark("ant_ptb", arguments)
    assert rows[1]["dev_by_epoch"] == tried[0]["dev_by_epoch"]  # the same checkpoints
    assert rows[2]["embedding_parameters"] == 2 * rows[0]["embedding_parameters"] == 20 * 16
    assert len(list((tmp_path / "w").iterdir())) == 4
    monkeypatch.setattr(tied_language, "run", None)
    assert anchors_ptb.benchmark("ant_ptb", arguments) == rows == results.rows("ant_ptb")
    lines = anchors_ptb.table(rows[::-1]).splitlines()
    for line, name in ((lines[2], "SE"), (lines[4], "SE, 256 units")):
        assert line.startswith(f"| {name} | - | 1 | 1 |") and "| 1/1.0 |" in line
    arguments.sizes = True
    with pytest.raises(ValueError, match="`--sizes` cannot count these anew"):
        anchors_ptb.benchmark("ant_ptb", arguments)


def test_a_last_step_makes_zeros_of_small_entries(tmp_path):
    options = {**ANCHORS, "nonnegative": False, "l1_weight": 1e-4}
    rows = [run(tmp_path, {**options, **last}) for last in ({}, {"last": 0.1})]
    assert rows[0]["dev_by_epoch"] == rows[1]["dev_by_epoch"]  # one training
    assert rows[1]["embedding_parameters"] < 0.9 * rows[0]["embedding_parameters"]
    assert rows[0]["dev_perplexity"] == pytest.approx(rows[0]["dev_by_epoch"][-1], abs=0.01)
    assert rows[1]["dev_perplexity"] != pytest.approx(rows[0]["dev_perplexity"], abs=0.01)
    layer = tied_language.build_embedding(Spec("method", options), CORPUS, None)
    layer.build()
    before = layer.transform.numpy()
    tied_language.last_step(layer, 0.1)
    expected = np.sign(before) * np.maximum(np.abs(before) - 0.1, 0)
    np.testing.assert_allclose(layer.transform, expected, atol=1e-6)


def test_the_runs_are_those_of_the_issue():
    kinds = [options["kind"] for options in anchors_ptb.METHODS.values()]
    assert set(kinds) == {
        "standard", "low_rank", "tensor_train", "sparse_vd", "sparse_vd_voc", "nearest", "k_svd",
        "anchors",
    }  # fmt: skip
    sizes = [options.get("num_anchors") for options in anchors_ptb.METHODS.values()]
    assert {100, 500, 1000, 2000} <= set(sizes)
    wholes = anchors_ptb.whole()
    assert all(spec.teacher == wholes[0] for spec in wholes) and wholes[0].train_tokens is None
    specs = anchors_ptb.grid()
    assert len({spec.folder(tied_language.Path("."))
                for spec in specs}) == len(specs)  # fmt: skip
