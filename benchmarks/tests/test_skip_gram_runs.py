"""Runs of skip-grams on a made-up text: what they train, keep, and measure."""

import argparse
import json

import keras
import numpy as np
import pytest

from benchmarks.data.wikipedia import encode
from benchmarks.data.word_similarity import Judged
from benchmarks.projections import (
    skip_gram_order,
    skip_gram_runs,
    skip_gram_speed,
    word_similarity,
)
from benchmarks.projections.skip_gram_runs import Spec

TOPICS = (["king", "queen", "reign", "throne"], ["city", "town", "river", "street"])


def made_up(articles=60):
    random = np.random.default_rng(0)
    return encode(
        [
            [word.encode() for word in random.choice(TOPICS[article % 2], 20)]
            for article in range(articles)
        ],
        num_words=100,
    )


CORPUS = made_up()
TINY = dict(threshold=1.0, batch_size=128, learning_rate=0.05, width=4, shared_noise=16, output=0.1)
SG = Spec("sg", epochs=3, **TINY)
NP_SG = Spec("np_sg", hidden=16, epochs=3, misspelt=0.3, context_rate=0.05, **TINY)._replace(
    learning_rate=0.02, shift=True
)
JUDGED = {
    name: Judged(
        name,
        ["king", "queen", "king", "reign", "queen"],
        ["queen", "throne", "city", "town", "unseen"],
        np.array([9.0, 8.0, 1.0, 2.0, 5.0]),
    )
    for name in word_similarity.word_similarity.NAMES
}


@pytest.mark.parametrize("spec", [SG, NP_SG], ids=["sg", "np_sg"])
def test_a_run_learns_and_is_measured(spec, tmp_path):
    row = word_similarity.run(spec, CORPUS, JUDGED, tmp_path)
    assert row["known_pairs"]["RG-65"] == 4 and row["pairs"]["RG-65"] == 5
    assert row["known"]["RG-65"] > 0.3  # words of a topic are alike
    assert (row["all"] is None) == (spec.method == "sg")
    assert len(row["loss_by_epoch"]) == 3 and row["loss"] < row["loss_by_epoch"][0]
    assert row["parameters"] == (8 * 4 if spec.method == "sg" else 1121 * 16 + 17 * 4 + 2 * 4)
    assert json.loads(json.dumps(row)) == row
    # once done, it is read; the vectors are the same
    again = word_similarity.run(spec, CORPUS, JUDGED, tmp_path)
    assert again == row
    vectors = word_similarity.vectors_of(skip_gram_runs.load(spec, tmp_path), CORPUS.words)
    assert vectors(["king", "town"]).shape == (2, 4)


def test_a_killed_run_goes_on(tmp_path, monkeypatch):
    spec = NP_SG._replace(misspelt=0.0, by_word=True, batch_size=2048)

    class Killed(Exception):
        pass

    begin = skip_gram_runs._Epochs.on_epoch_begin

    def stop(self, epoch, logs=None):
        if epoch == 1:
            raise Killed
        begin(self, epoch, logs)

    with monkeypatch.context() as patch:
        patch.setattr(skip_gram_runs._Epochs, "on_epoch_begin", stop)
        with pytest.raises(Killed):
            skip_gram_runs.train(spec, CORPUS, tmp_path / "cut")
    _, cut = skip_gram_runs.train(spec, CORPUS, tmp_path / "cut")
    _, whole = skip_gram_runs.train(spec, CORPUS, tmp_path / "whole")
    # weights, optimizer, rate and pairs come back, and the noise of the next step
    np.testing.assert_allclose(cut["loss_by_epoch"], whole["loss_by_epoch"], rtol=1e-4)
    assert not (tmp_path / "cut" / "backup").exists()


def test_the_benchmark_keeps_rows_and_prints_them(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))
    runs = {"SG": SG, "NP-SG": NP_SG}
    monkeypatch.setattr(word_similarity, "NAMED", runs)
    monkeypatch.setitem(word_similarity.BENCHMARKS, "word_similarity", runs)
    monkeypatch.setattr(word_similarity.wikipedia, "load", lambda *_: CORPUS)
    monkeypatch.setattr(word_similarity.word_similarity, "load", lambda data: JUDGED)
    arguments = argparse.Namespace(
        data=None, seeds=None, epochs=1, work=str(tmp_path / "work"), verbose=0
    )
    rows = word_similarity.benchmark("word_similarity", arguments)
    table = word_similarity.table(rows).splitlines()
    assert [line.split(" | ")[0] for line in table[2:]] == [
        "| SG", "| NP-SG", "| NP-SG, all pairs", "| pairs covered",
    ]  # fmt: skip
    assert len({line.count("|") for line in table}) == 1
    near = word_similarity.neighbour_table(dict(zip(runs, rows, strict=True)))
    assert "| kingg | - |" in near and "| city | " in near


def test_parameters_are_those_asked_for():
    for wanted in (1_000_000, 2_000_000, 4_000_000):
        hidden = skip_gram_runs.hidden_units(wanted)
        layer = skip_gram_runs.build_embedding(Spec("np_sg", hidden=hidden), 10)
        layer.build((None, 1120))
        assert layer.paper_bits() / 32 == pytest.approx(wanted, rel=1e-3)


def test_runs_are_the_papers_table_and_have_folders_of_their_own(tmp_path):
    names = list(word_similarity.RUNS)
    assert {"SG", "NP-SG 1M", "NP-SG 2M", "NP-SG 4M"} < set(names) and len(names) == 11
    specs = word_similarity.RUNS.values()
    assert len({spec.folder(tmp_path) for spec in specs}) == 11
    for name, spec in word_similarity.RUNS.items():
        assert word_similarity.label(spec._replace(seed=3, epochs=1)._asdict()) == name
        assert spec.num_words == 100_000 and spec.negatives == 25 and spec.threshold == 1e-5
    changed = word_similarity.RUNS["NP-SG 1M"]._replace(dropout=0.5, window=3)._asdict()
    assert word_similarity.label(changed) == "NP-SG 1M, dropout=0.5, window=3"
    for specs in (word_similarity.DEV, word_similarity.PART):
        assert len({spec.folder(tmp_path) for spec in specs.values()}) == len(specs)
    with pytest.raises(ValueError, match="run the benchmarks `word_similarity` and"):
        skip_gram_runs.load(SG, tmp_path)


def test_speed_of_every_kind_of_arm(monkeypatch):
    spec = NP_SG._replace(misspelt=0.0)
    arms = {"table": (SG, False), "cached": (spec, False), "text": (spec, True)}
    monkeypatch.setattr(skip_gram_speed, "ARMS", arms)
    rows = []
    for name in arms:
        keras.backend.clear_session()
        rows.append(skip_gram_speed.measure(name, CORPUS, steps=2, warm=1))
        rows[-1]["ratio"] = 1.0
    assert all(row["words_per_second"] > 0 and row["different_words"] <= 8 for row in rows)
    assert skip_gram_speed.table(rows).count("\n") == 4


def test_batches_are_read_three_times_from_the_same_weights():
    still = NP_SG._replace(misspelt=0.0, learning_rate=0.0, context_rate=0.0, epochs=2)
    row = skip_gram_order.run(still, CORPUS, share=2)
    np.testing.assert_allclose(row["in order"], row["rate 0"], rtol=0.01)  # other noise words
    np.testing.assert_allclose(row["mixed"], row["rate 0"], rtol=0.01)
    row = skip_gram_order.run(NP_SG._replace(misspelt=0.0), CORPUS, share=2)
    assert row["in order"][0] < row["rate 0"][0] and row["rate 0"][2] < row["rate 0"][0]
    assert skip_gram_order.table([row]).splitlines()[3].startswith("| 2 | 1 | 67% of the first |")
