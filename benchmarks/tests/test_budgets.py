"""Budgets of bytes on a tiny task: choosing on dev, seeds, and files that no budget holds."""

import argparse
import dataclasses

import numpy as np
import pytest

from benchmarks.lib import results
from benchmarks.product import budgets, fasttext_files
from benchmarks.product.budget_models import RECIPES, TUNED, Config, Models, mixture
from benchmarks.product.fasttext_files import Files, Setting
from kerascompact.text.fingerprints import index
from tiny_task import dataset

QUICK = {"epochs": 4, "tuning_epochs": 1, "dropout": 0.0, "batch_size": 16}


@pytest.fixture
def small(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    return Models(dataset(), [Config(30, 4, **QUICK), Config(30, 8, (1, 2, 4), **QUICK)], 8, 64)


def test_every_setting_is_tried_and_the_best_on_dev_measured(small, monkeypatch):
    monkeypatch.setattr(budgets, "BUDGETS", (1, 64))
    budgets.run(small, "budgets", [0, 1])
    tried = results.rows("budgets_dev")
    assert [row["recipe"] for row in tried] == 2 * [*RECIPES, TUNED]
    none, *found = results.rows("budgets")
    assert none["label"] == "none" and none["bytes"] == min(row["bytes"] for row in tried)
    assert [row["spec"]["seed"] for row in found] == [0, 1]
    best = max(row["dev_accuracy"] for row in tried)
    assert found[0]["dev_accuracy"] == best and found[0]["agreement"] == 1
    assert max(row["bytes"] for row in found) <= 64 * 1024
    budgets.run(Models(dataset(), small.settings, 8, 64), "budgets", [0, 1])
    assert len(results.rows("budgets")) == 3  # nothing is measured again


def test_labels_say_what_was_chosen():
    assert Config(1000, 16, (1, 2, 3, 32)).label == "CNN 32 x 1, 2, 3; table, d=16, 1,000 words"
    assert Config(9, 8, chosen="norm").label == "mean; table, d=8, 9 words by norm"
    assert Config(9, 8, chosen="count").label == "mean; table, d=8, 9 words by norm and count"
    assert Config(9, 8, skip=True).label == "mean of known words; table, d=8, 9 words"
    pairs = Config(9, 8, chosen="norm", rules="wordpunct_pairs")
    assert pairs.label == "mean; table, d=8, 9 words and pairs by norm"
    assert mixture(500, 8, 20, 100).label == "mean; ME k=20 u=100, d=8, 500 words"


@pytest.mark.parametrize("method", ["standard", "mixture"])
def test_words_chosen_by_their_vectors(method):
    """A word of one class only is worth more than one of all, however frequent."""
    made = dataset(count=200)
    rng = np.random.default_rng(0)
    common = [" ".join(rng.choice(["the", "of", "and"], 3)) for _ in made.train.texts]
    texts = [f"{first} {text}" for first, text in zip(common, made.train.texts, strict=True)]
    noisy = dataclasses.replace(made, train=made.train._replace(texts=texts))
    options = (("clusters", 3), ("unique", 2)) if method == "mixture" else ()
    skip = method == "standard"
    setting = Config(8, 4, chosen="norm", skip=skip, method=method, options=options, **QUICK)
    arm = Models(noisy, [setting], 8, 64)
    words = arm.data_of(setting).vocabulary.words
    assert len(words) == 6 and not {"the", "of", "and"} & set(words)
    frequent = arm.data_of(setting._replace(chosen="")).vocabulary.words
    assert {"the", "of", "and"} <= set(frequent)
    in_order = tuple(words[place] for place in index(words).order) == words
    assert in_order == (method == "standard")
    assert all(arm.on_test(setting, name, 0)["agreement"] == 1 for name in RECIPES)


def test_pairs_tell_the_order_of_words():
    """Classes that a mean of words cannot tell apart: who comes first."""
    made = dataset(count=200)
    rng = np.random.default_rng(0)

    def ordered(split):
        fill = [" ".join(rng.choice(["up", "down", "now"], 2)) for _ in split.texts]
        labels = np.arange(len(fill)) % 2
        heads = [("dog bites man", "man bites dog")[label] for label in labels]
        texts = [f"{head} {rest}" for head, rest in zip(heads, fill, strict=True)]
        return split._replace(texts=texts, labels=labels)

    splits = {name: ordered(getattr(made, name)) for name in ("train", "dev", "test")}
    rules = {"skip": True, "rules": "wordpunct_pairs"}
    setting = Config(8, 4, chosen="norm", **{**QUICK, **rules, "epochs": 20})
    arm = Models(dataclasses.replace(made, **splits), [setting], 6, 64)
    words = arm.data_of(setting).vocabulary.words
    assert sum(" " in word for word in words) >= 4
    assert arm.data_of(setting).train.ids.shape[1] == 11
    found = arm.on_test(setting, "int4", 0)
    assert found["agreement"] == 1 and found["file_accuracy"] == 1


def row(arm, budget, test, seed=0, dataset="trec"):
    spec = {"dataset": dataset, "arm": arm, "budget": budget, "seed": seed}
    none = test is None
    label, dev = ("none", None) if none else ("chosen", 0.5)
    return {
        "spec": spec,
        "label": label,
        "bytes": 900 + seed,
        "dev_accuracy": dev,
        "file_accuracy": test,
    }


def test_table():
    rows = [row("fastText", 16, 0.5), row("fastText", 32, 0.5), row("kerascompact", 16, 0.75)]
    rows += [row("kerascompact", 16, 0.5, seed=1), row("kerascompact", 32, None)]
    assert budgets.table(rows).splitlines()[2:] == [
        "| trec | 16 | kerascompact | chosen | 2 | 901 | 50.00 ± 0.00 | 62.50 ± 17.68 |",
        "| trec | 16 | fastText | chosen | 1 | 900 | 50.00 | 50.00 |",
        "| trec | 32 | kerascompact | none | 1 | from 900 | - | - |",
        "| trec | 32 | fastText | chosen | 1 | 900 | 50.00 | 50.00 |",
    ]


def test_without_fasttext_the_error_says_what_to_install(tmp_path, monkeypatch, small, capsys):
    def missing(module, extra):
        raise ImportError(f"Install it with: pip install 'kerascompact[{extra}]'")

    monkeypatch.setattr(fasttext_files, "require", missing)
    with pytest.raises(ImportError, match=r"kerascompact\[bench\]"):
        Files(dataset(), [], tmp_path)
    monkeypatch.setattr(budgets.datasets, "load", lambda *_: dataset())
    monkeypatch.setattr(budgets, "SETS", {"budgets": ("tiny",)})
    monkeypatch.setattr(budgets, "CONFIGS", {"tiny": small.settings[:1]})
    monkeypatch.setattr(budgets, "LENGTHS", {"tiny": 8})
    monkeypatch.setattr(budgets, "MAX_BYTES", {"tiny": 64})
    monkeypatch.setattr(budgets, "BUDGETS", (64,))
    arguments = argparse.Namespace(data=None, seeds=[0])
    (only,) = budgets.benchmark("budgets", arguments)
    assert only["spec"]["arm"] == "kerascompact"
    assert "fastText is left out. Install it with" in capsys.readouterr().out


def test_files_of_fasttext_learn_and_shrink(tmp_path, many_words):
    pytest.importorskip("fasttext")
    files = Files(many_words, [], tmp_path)
    large, few = Setting(4, 1, 400, epochs=10), Setting(4, 2, 260, epochs=10)
    (row,) = files.on_dev(large)
    assert row["label"] == "d=4, 400 words, rate 0.25, 10 epochs" and row["dev_accuracy"] > 0.9
    tested = files.on_test(few, "ftz", seed=1)
    assert tested["file_accuracy"] > 0.5 and tested["bytes"] < row["bytes"]
    assert files.on_dev(Setting(4, 1, 400, epochs=10, rate=1e4)) == []  # NaN: it is passed over


@pytest.fixture
def many_words():
    """More words than product codes need vectors."""
    made = dataset(count=600)
    texts = [f"{text} rare{i}" for i, text in enumerate(made.train.texts)]
    return dataclasses.replace(made, train=made.train._replace(texts=texts))
