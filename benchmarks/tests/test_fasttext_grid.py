"""fastText's grid: choosing on dev, seeds, budgets that no file fits, and its files themselves."""

import dataclasses

import pytest

from benchmarks.lib import results
from benchmarks.product import fasttext_files, fasttext_grid
from benchmarks.product.fasttext_files import Files, Setting
from tiny_task import dataset


class Given:
    """Stands for fastText's files: bytes and accuracies follow from the setting."""

    def __init__(self, *settings):
        self.dataset, self.settings, self.calls = dataset(), settings, []

    def on_dev(self, setting):
        self.calls.append(setting)
        if setting.rate > 1:  # it failed
            return []
        sizes = {"bytes": setting.cutoff, "dev_accuracy": setting.rate}
        return [{"label": setting.label, **sizes}]

    def on_test(self, setting, seed):
        sizes = {"bytes": setting.cutoff + seed, "dev_accuracy": setting.rate}
        return {**sizes, "file_accuracy": setting.rate / 2}


def test_every_setting_is_tried_and_the_best_on_dev_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(fasttext_grid, "BUDGETS", (1, 2, 64))
    good, better, large = Setting(4, 1, 1400, rate=0.5), Setting(4, 1, 1500, rate=0.75), 60_000
    files = Given(good, better, Setting(4, 2, 1600, rate=2.0), Setting(4, 2, large, rate=0.75))
    fasttext_grid.run(files, "fasttext_grid", [0, 1])
    assert len(results.rows("fasttext_grid_dev")) == 3
    none, *found = results.rows("fasttext_grid")
    assert (none["label"], none["bytes"], none["spec"]["budget"]) == ("none", 1400, 1)
    chosen = [(row["spec"]["budget"], row["spec"]["cutoff"], row["spec"]["seed"]) for row in found]
    assert chosen == [(2, 1500, 0), (2, 1500, 1), (64, 1500, 0), (64, 1500, 1)]
    fasttext_grid.run(files, "fasttext_grid", [0, 1])
    assert len(results.rows("fasttext_grid")) == 5  # nothing is measured again
    assert files.calls.count(good) == 1


def row(budget, test, seed=0):
    label, dev = ("none", None) if test is None else ("chosen", 0.5)
    return {
        "spec": {"dataset": "trec", "budget": budget, "seed": seed},
        "label": label,
        "bytes": 900 + seed,
        "dev_accuracy": dev,
        "file_accuracy": test,
    }


def test_table():
    rows = [row(32, None), row(16, 0.75), row(16, 0.5, seed=1)]
    assert fasttext_grid.table(rows).splitlines()[2:] == [
        "| trec | 16 | chosen | 2 | 901 | 50.00 ± 0.00 | 62.50 ± 17.68 |",
        "| trec | 32 | none | 1 | from 900 | - | - |",
    ]


def test_without_fasttext_the_error_says_what_to_install(tmp_path, monkeypatch):
    def missing(module, extra):
        raise ImportError(f"Install it with: pip install 'kerascompact[{extra}]'")

    monkeypatch.setattr(fasttext_files, "require", missing)
    with pytest.raises(ImportError, match=r"kerascompact\[bench\]"):
        Files(dataset(), [], tmp_path)


def test_files_of_fasttext_learn_and_shrink(tmp_path, many_words):
    pytest.importorskip("fasttext")
    files = Files(many_words, [], tmp_path)
    large, few = Setting(4, 1, 400, epochs=10), Setting(4, 2, 260, epochs=10)
    (row,) = files.on_dev(large)
    assert row["label"] == "d=4, 400 words, rate 0.25, 10 epochs" and row["dev_accuracy"] > 0.9
    tested = files.on_test(few, seed=1)
    assert tested["file_accuracy"] > 0.5 and tested["bytes"] < row["bytes"]
    assert files.on_dev(Setting(4, 1, 400, epochs=10, rate=1e4)) == []  # NaN: it is passed over


@pytest.fixture
def many_words():
    """More words than product codes need vectors."""
    made = dataset(count=600)
    texts = [f"{text} rare{i}" for i, text in enumerate(made.train.texts)]
    return dataclasses.replace(made, train=made.train._replace(texts=texts))
