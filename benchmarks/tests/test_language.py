"""Runs of a language model on a made-up text of few words."""

import argparse
import json

import numpy as np
import pytest

from benchmarks.data.ptb import Corpus
from benchmarks.kd_codes import language, ptb
from benchmarks.kd_codes.language import Spec
from benchmarks.lib import results
from kerascompact.models.language_model import ZarembaSize

WORDS = tuple("abcdefghijklmnopqrst")


def text(tokens, seed):
    """Every word is one or two letters after the one before it."""
    steps = np.random.default_rng(seed).integers(1, 3, tokens)
    return (np.cumsum(steps) % len(WORDS)).astype(np.int32)


CORPUS = Corpus("letters", WORDS, text(800, 0), text(200, 1), text(203, 2), "made up")


@pytest.fixture(autouse=True)
def tiny(monkeypatch, tmp_path):
    size = ZarembaSize(8, 0.0, 4, 0.3, 0.5, 2, 2, 0.5, batch_size=4)
    monkeypatch.setitem(language.SIZES, "small", size)
    monkeypatch.setattr(language, "K", 4)
    monkeypatch.setattr(language, "D", 3)
    monkeypatch.setattr(language, "HIDDEN", 6)
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path / "results"))


def run(method, work, epochs=2, **options):
    return language.run(Spec(method, epochs=epochs, **options), CORPUS, work, verbose=0)


def test_full_then_guided_by_it(tmp_path):
    full = run("standard", tmp_path)
    guided = run("kd_pdg", tmp_path)
    # words follow each other by one of two steps: a perplexity of 2 at best, 20 without learning
    assert 1.9 < full["test_perplexity"] < 25 and 1.9 < guided["test_perplexity"] < 25
    assert full["embedding_parameters"] == 20 * 8 and full["paper_bits"] == 32 * 20 * 8
    parameters = 3 * 4 * 6 + 6 * 8 + 8 + 2 * 6 + 2 * 8
    assert guided["embedding_parameters"] == parameters
    assert guided["paper_bits"] == 20 * 3 * 2 + 32 * parameters
    # batch normalization is folded: its four vectors are not stored
    assert guided["stored_bits"] == guided["paper_bits"] - 32 * (2 * 6 + 2 * 8)
    assert len(guided["dev_by_epoch"]) == 2
    # the file reads windows of 4 tokens without a past: worse than the text in one stream
    assert guided["argmax_agreement"] == 1.0 and guided["windows"] == 202 // 4
    assert 1.9 < guided["file_perplexity"] < 30
    assert json.loads(json.dumps(guided))["spec"]["method"] == "kd_pdg"


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("kd", {}),
        ("kd_odg", {}),
        pytest.param("kd_random", {}, marks=pytest.mark.slow),
        pytest.param("kd_characters", {}, marks=pytest.mark.slow),
        pytest.param("low_rank", {"budget": 0.5}, marks=pytest.mark.slow),
        ("quantized", {"budget": 4}),
    ],
)
def test_every_method_runs(method, options, tmp_path):
    row = run(method, tmp_path, epochs=1, **options)
    assert 1.9 < row["test_perplexity"] < 25


@pytest.mark.parametrize("method", ["kd_pretrained", "product"])
def test_methods_that_start_from_the_trained_table(method, tmp_path):
    options = {"budget": 4} if method == "product" else {}
    with pytest.raises(ValueError, match="run 'SE' first"):
        run(method, tmp_path, **options)
    run("standard", tmp_path)
    assert 1.9 < run(method, tmp_path, **options)["test_perplexity"] < 25


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    run("kd", tmp_path / "cut", epochs=1)
    cut = run("kd", tmp_path / "cut", epochs=2)
    whole = run("kd", tmp_path / "whole", epochs=2)
    # weights, optimizer and rate come back; only sums are taken in another order
    np.testing.assert_allclose(cut["dev_by_epoch"], whole["dev_by_epoch"], rtol=0.01)
    assert len(cut["dev_by_epoch"]) == 2


def test_perplexity_is_that_of_the_whole_text_in_one_stream(tmp_path):
    row = run("standard", tmp_path)
    spec = Spec("standard", epochs=2)
    model = language.build(spec, CORPUS, language.build_embedding(spec, CORPUS, tmp_path), 4)
    model.load_weights(spec.folder(tmp_path) / "best.weights.h5")
    single = language.models.language_model(
        language.build_embedding(spec, CORPUS, tmp_path), 20, 8, num_layers=2
    )
    single.set_weights(model.get_weights())
    logits = single.predict(CORPUS.test[None, :-1], verbose=0)[0].astype(np.float64)
    logits -= logits.max(axis=-1, keepdims=True)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    entropy = -np.mean(log_p[np.arange(len(log_p)), CORPUS.test[1:]])
    np.testing.assert_allclose(row["test_perplexity"], np.exp(entropy), rtol=1e-5)


def test_the_benchmark_keeps_rows_and_does_not_repeat_them(monkeypatch, tmp_path):
    monkeypatch.setitem(ptb.BENCHMARKS, "ptb", [Spec("standard"), Spec("kd")])
    monkeypatch.setattr(ptb.ptb, "load", lambda data, tokens: CORPUS)
    arguments = argparse.Namespace(
        data=None, seeds=None, epochs=1, work=str(tmp_path / "work"), verbose=0
    )
    rows = ptb.benchmark("ptb", arguments)
    assert [row["label"] for row in rows] == ["SE", "KD"]
    assert len(results.rows("ptb")) == 2
    monkeypatch.setattr(language, "run", None)
    assert ptb.benchmark("ptb", arguments) == rows
    assert ptb.table(rows).count("\n") == 3 and "| KD | small |" in ptb.table(rows)


def test_the_runs_are_those_of_the_paper():
    of_codes = ["KD", "KD ODG", "KD PDG", "KD pretrained", "KD random"]
    assert sorted(spec.label for spec in ptb.PAPER) == [*of_codes, "LR 0.1", "LR 0.2", "SE"]
    settings = {spec._replace(method="", budget=0) for spec in ptb.PAPER}
    assert settings == {Spec("")}  # small, all of the text, 15 epochs, the first seed
    assert all(spec.train_tokens == 300_000 and spec.epochs == 5 for spec in ptb.CUT)
