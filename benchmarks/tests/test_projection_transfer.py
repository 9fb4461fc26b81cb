"""Pre-trained projections in classifiers and language models, on made-up texts."""

import argparse

import keras
import numpy as np
import pytest

from benchmarks.data.ptb import Corpus
from benchmarks.projections import projection_transfer, skip_gram_runs
from benchmarks.projections.projection_transfer import Spec
from kerascompact.models.language_model import ZarembaSize
from made_up_questions import DATA

SMALL = dict(units=8, hidden=12, width=6, length=5, epochs=2, batch_size=16, learning_rate=0.02)


def text(tokens, seed):
    steps = np.random.default_rng(seed).integers(1, 3, tokens)
    return (np.cumsum(steps) % 20).astype(np.int32)


CORPUS = Corpus(
    "letters", tuple("abcdefghijklmnopqrst"), text(800, 0), text(200, 1), text(203, 2), ""
)


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    size = ZarembaSize(8, 0.0, 4, 0.3, 0.5, 2, 2, 0.5, batch_size=4, layers=1)
    monkeypatch.setattr(projection_transfer, "LANGUAGE", size)
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))


def pretrain(work, start="tuned"):
    """Weights in the folder where `word_similarity` or `projection_fit` would put them."""
    spec = projection_transfer.pretraining_of(Spec("trec", start, **SMALL))
    layer = skip_gram_runs.build_embedding(spec, 10)
    layer.build((None, 1120))
    layer.set_weights([weight + 0.01 for weight in layer.get_weights()])  # as if trained
    folder = spec.folder(work)
    folder.mkdir(parents=True)
    skip_gram_runs.save(layer, ["a", "b"], folder)
    return layer


@pytest.mark.parametrize("start", projection_transfer.STARTS)
def test_start_is_the_pretrained_projection(tmp_path, start):
    spec = Spec("trec", start, **SMALL)
    if start != "none":
        with pytest.raises(ValueError, match="run the benchmarks `word_similarity` and"):
            projection_transfer.projection(spec, tmp_path)
    trained = pretrain(tmp_path, start)
    layer = projection_transfer.projection(spec, tmp_path)
    same = np.array_equal(layer.get_weights()[0], trained.get_weights()[0])
    assert same == (start != "none")
    assert bool(layer.trainable_weights) == (start != "frozen")
    assert layer.mask_zero
    ngrams = layer.projection.ngrams
    assert tuple(ngrams) == ((1, 3) if start == "table" else (3, 6))


@pytest.mark.parametrize("start", ["none", "frozen"])
def test_classifier(start, tmp_path):
    trained = pretrain(tmp_path)
    data = projection_transfer.encode(DATA, 5)
    assert data.train.ids[0, 3] == data.words.index("?") and data.train.ids[0, 4] == 0
    row = projection_transfer.classify(Spec("trec", start, **SMALL), data, tmp_path)
    assert row["test"] > 0.7 and row["dev"] >= row["dev_by_epoch"][0]
    again = skip_gram_runs.load(
        projection_transfer.pretraining.RUNS["NP-SG 1M"]._replace(hidden=12, width=6), tmp_path
    )
    np.testing.assert_array_equal(again.get_weights()[0], trained.get_weights()[0])


def test_language_model_and_benchmark(tmp_path, monkeypatch):
    pretrain(tmp_path)
    pretrain(tmp_path, "table")
    specs = [
        Spec("ptb", start, **{**SMALL, "dropout": 0.0})
        for start in (*projection_transfer.STARTS, "embedding")
    ]
    monkeypatch.setitem(projection_transfer.BENCHMARKS, "projection_transfer", specs)
    monkeypatch.setattr(projection_transfer.ptb, "load", lambda data, tokens: CORPUS)
    arguments = argparse.Namespace(
        data=None, seeds=None, epochs=None, work=str(tmp_path), verbose=0
    )
    rows = projection_transfer.benchmark("projection_transfer", arguments)
    # words follow each other by one of two steps: a perplexity of 2 at best, 20 without learning
    assert all(1.9 < row["test"] < 25 for row in rows)
    table = projection_transfer.table(rows)
    lines = table.splitlines()
    assert "| from scratch | 2 | 1 |" in lines[2] and lines[2].endswith(" - |")
    gain = rows[2]["test"] - rows[0]["test"]
    assert "| none, a table | 2 | 1 |" in lines[6] and len(lines) == 7
    assert "| pre-trained, frozen | 2 | 1 |" in lines[4] and lines[4].endswith(f" {gain:+.2f} |")
    name = "projection_language_dev"
    monkeypatch.setitem(projection_transfer.BENCHMARKS, name, specs[-1:])
    (of_dev,) = projection_transfer.benchmark(name, arguments)
    assert "test" not in of_dev and of_dev["dev"] == rows[-1]["dev"]
    line = projection_transfer.table([of_dev]).splitlines()[2]
    assert line.startswith("| none, a table | 0.02 | 0 | ")
    keras.backend.clear_session()


def test_a_projection_after_a_part_is_whitened(tmp_path):
    spec = Spec("ptb", "none", **SMALL, tokens=9, part_epochs=3)
    of_part = projection_transfer.pretraining_of(spec)
    assert (of_part.tokens, of_part.epochs, of_part.hidden) == (9, 3, 12) and of_part.whitening
    layer = projection_transfer.projection(spec, tmp_path, ["king", "queen", "city"])
    other = skip_gram_runs.build_embedding(of_part, 3)
    other.adapt(["king", "queen", "city"], epsilon=of_part.whitening)
    np.testing.assert_array_equal(layer.whitener, other.whitener)
    of_all = projection_transfer.pretraining_of(spec._replace(tokens=None, part_epochs=30))
    long = projection_transfer.pretraining.BENCHMARKS["word_similarity_long"]["NP-SG 1M"]
    assert of_all == long._replace(hidden=12, width=6) and long.epochs == 30
    own = spec._replace(tokens=None, part_epochs=30, paired=True, seed=2)
    assert projection_transfer.pretraining_of(own) == of_all._replace(seed=2)
    assert projection_transfer.pretraining_of(own._replace(paired=False)) == of_all


def test_runs_compare_equal_trainings():
    starts = {
        "projection_transfer_part": projection_transfer.OF_LANGUAGE,
        "projection_transfer_whole": ("none", "tuned", "frozen"),
        "projection_language_dev": ("embedding", "none"),
    }
    language = ("embedding", "none", "tuned", "frozen")
    long = projection_transfer.BENCHMARKS["projection_transfer_long"]
    assert tuple(spec.start for spec in long) == (*language[1:], *language[1:], *language)
    for name, specs in projection_transfer.BENCHMARKS.items():
        if name == "projection_transfer_long":
            continue
        tasks = {spec._replace(start="none") for spec in specs}
        wanted = starts.get(name, projection_transfer.STARTS)
        each = (
            [start for start in wanted for _ in tasks] if "dev" in name else [*wanted] * len(tasks)
        )
        assert [spec.start for spec in specs] == each, name
