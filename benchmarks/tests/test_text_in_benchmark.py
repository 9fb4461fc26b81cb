"""The benchmark of text in, on a task of seconds."""

import argparse

import pytest

import tiny_task
from benchmarks.lib import results
from benchmarks.product import text_in
from benchmarks.product.fuzz_texts import hostile_texts
from kerascompact import datasets, tools


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    monkeypatch.setenv("KERASCOMPACT_RESULTS", str(tmp_path))
    monkeypatch.setattr(datasets, "load", lambda name, folder: tiny_task.dataset())
    monkeypatch.setattr(text_in, "SETS", {"clinc150": (30, 10)})
    monkeypatch.setattr(text_in, "HOSTILE", 30)
    monkeypatch.setattr(text_in, "TIMED", 20)
    monkeypatch.setattr(text_in, "BATCH", 16)


def test_rows_of_every_kind():
    arguments = argparse.Namespace(data=None, epochs=5)
    rows = text_in.benchmark("text_in", arguments)
    assert [row["spec"]["kind"] for row in rows] == list(text_in.KINDS)
    for row in rows:
        assert row["hostile_rows"] == 30 and row["hostile_differing"] == 0
        assert row["file_accuracy"] == row["keras_accuracy"] and row["test_rows"] == 60
        assert row["microseconds"] > 0 and row["words_per_text"] > 2
    with_words, *without = rows
    assert with_words["file_accuracy"] > 0.5  # by chance 1/3
    assert with_words["inside_bytes"] == -(-28 * (32 + 5) // 8)
    assert 0 < with_words["file_bytes"] - with_words["ids_file_bytes"] < 12_000
    assert all(row["inside_bytes"] == 0 and "ids_file_bytes" not in row for row in without)
    assert text_in.benchmark("text_in", arguments) == rows == results.rows("text_in")
    assert text_in.table(rows).count("\n") == 1 + len(rows)


def test_texts_that_differ_are_counted():
    data = tiny_task.dataset()
    model, words = text_in.trained("vocabulary", data, 30, 10, epochs=1)
    other, _ = text_in.trained("vocabulary", data, 30, 10, epochs=3)
    file = text_in.files_of("vocabulary", other, words, data.label_names, 10)["text"]
    texts = [*data.test.texts[:5], *hostile_texts(3)]
    found = text_in.count_differing(model, file, texts, words)
    assert 5 <= found <= 8
    assert text_in.count_differing(other, file, texts, words) == 0
    with pytest.raises(ValueError, match="`vocabulary` must be that of the model"):
        text_in.count_differing(model, file, texts, None)
    assert tools.inspect(file).custom == []
