"""The language model of many words, on a made-up text: every kind, its numbers and its file."""

import argparse
from pathlib import Path

import keras
import numpy as np
import pytest

from benchmarks.anchors import anchors_wiki
from benchmarks.anchors.anchors_wiki import METHODS, Spec
from benchmarks.data import wikipedia
from benchmarks.data.ptb import Corpus

V, d = 40, 8
pytestmark = pytest.mark.skipif(
    not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13"
)


def text(tokens, seed):
    """Every word is one or two after the one before it."""
    steps = np.random.default_rng(seed).integers(1, 3, tokens)
    return (np.cumsum(steps) % V).astype(np.int32)


CORPUS = Corpus("letters", tuple(map(str, range(V))), text(900, 0), text(60, 1), text(70, 2), "-")
SMALL = Spec("SE", METHODS["SE"], V, None, d, 0.03, 4, 20, 4, 8)
OPTIONS = {
    "hashed": {"kind": "hashed", "num_frequent": 10},
    "anchors": {"kind": "anchors", "nonnegative": False, "num_anchors": 6, "l1_weight": 0.1},
    "slots": {
        "kind": "slots", "nonnegative": False, "num_anchors": 6, "entries": 3, "l1_weight": 0.1,
    },
}  # fmt: skip


@pytest.fixture(autouse=True)
def apart(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(anchors_wiki, "OUT_OF_VOCABULARY", 5)


@pytest.mark.parametrize("kind", OPTIONS)
def test_every_kind_learns_and_is_shipped(kind, tmp_path):
    row = anchors_wiki.run(SMALL._replace(options=OPTIONS[kind]), CORPUS, tmp_path)
    # words follow each other by one of two steps: 2 at best, 40 without learning
    assert 1.9 < row["dev_perplexity"] < 39 and 1.9 < row["test_perplexity"] < 39
    assert row["argmax_agreement"] == 1.0 and row["windows"] == 69 // 5
    most = {"hashed": 15 * d, "anchors": V * 6 + 6 * d, "slots": V * 3 + 6 * d}[kind]
    assert 0 < row["embedding_parameters"] <= most
    # each number of the LSTM with both moments of Adam, at the least
    assert row["training_bytes"] > 12 * 4 * d * (2 * d + 1)


def test_k_svd_is_of_the_trained_table(tmp_path):
    options = {"kind": "k_svd", "num_anchors": 12, "num_neighbors": 6, "max_points": 100}
    small = SMALL._replace(options=options)
    with pytest.raises(ValueError, match="run 'SE' first"):
        anchors_wiki.run(small, CORPUS, tmp_path, test=False)
    full = anchors_wiki.run(SMALL, CORPUS, tmp_path, test=False)
    assert full["embedding_parameters"] == V * d and "test_perplexity" not in full
    row = anchors_wiki.run(small, CORPUS, tmp_path, test=False)
    assert row["embedding_parameters"] <= V * 6 + 12 * d and "training_bytes" not in row
    of = small._replace(options={**options, "of": "ANT 1,000"})
    assert of.teacher.options == METHODS["ANT 1,000"]
    assert 0.9 * full["dev_perplexity"] < row["dev_perplexity"] < 39
    near = small._replace(options={**options, "kind": "nearest", "weights": "kernel"})
    of_nearest = anchors_wiki.run(near, CORPUS, tmp_path, test=False)
    assert of_nearest["embedding_parameters"] == V * 6 + 12 * d
    assert row["dev_perplexity"] < of_nearest["dev_perplexity"] < 60
    begun, _ = anchors_wiki._trained(small, CORPUS, tmp_path, 0)
    assert begun.get_layer("embedding").compute_mask(np.zeros((1, 2), np.int32)) is None  # a word


def test_dev_and_test_are_the_last_articles(monkeypatch):
    texts = np.repeat(np.arange(500), 2).astype(np.int32)
    ids = np.arange(1000, dtype=np.int32)
    words = wikipedia.Words(tuple("ab"), np.array([3, 1]), ids, texts, 1000)
    monkeypatch.setattr(wikipedia, "load", lambda data, num_words: words)
    found = anchors_wiki.corpus(None, 2)
    assert (found.train[-1], found.dev[0], found.dev[-1], found.test[0]) == (99, 100, 399, 400)
    assert anchors_wiki.corpus(None, 2, 7).train.tolist() == [*range(7)]
    with pytest.raises(ValueError, match="`train_tokens` must be"):
        anchors_wiki.corpus(None, 2, 101)


def test_trials_are_as_many_for_each_kind_and_rows_are_kept(monkeypatch, tmp_path):
    assert {len(trials) for trials in anchors_wiki.TRIALS.values()} == {3}
    *trials, last = anchors_wiki.grid()
    assert len(trials) == 12 and all(trial.train_tokens == anchors_wiki.PART for trial in trials)
    assert last.train_tokens == Spec("SE", {}).train_tokens
    kinds = {anchors_wiki.TRIED[method]["kind"] for method in anchors_wiki.TRIALS}
    every = {options["kind"] for options in anchors_wiki.TRIED.values()}
    assert kinds | {"k_svd", "nearest"} == every
    monkeypatch.setattr(anchors_wiki, "METHODS", {"SE": METHODS["SE"]})
    repeated = CORPUS._replace(train=np.tile(CORPUS.train, 3))
    monkeypatch.setattr(anchors_wiki, "corpus", lambda *_: repeated)
    arguments = argparse.Namespace(data=None, seeds=None, epochs=1, work=tmp_path, verbose=0)
    (row,) = anchors_wiki.benchmark("ant_wiki", arguments)
    assert anchors_wiki.table([row]).splitlines()[2].startswith("| SE | ")
    monkeypatch.setattr(anchors_wiki, "run", None)
    assert anchors_wiki.benchmark("ant_wiki", arguments) == [row]
    assert len(list(Path(tmp_path).glob("*.weights.h5"))) == 1
