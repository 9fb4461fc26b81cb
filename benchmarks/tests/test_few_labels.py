"""Samples of few labels, and the teacher of the benchmark."""

import numpy as np
import pytest

from benchmarks.data.few_labels import Sample, sample
from benchmarks.lib import sentence_encoder
from benchmarks.product import few_labels, few_labels_rivals
from kerascompact import datasets
from kerascompact.datasets.base import Split


def test_a_sample_has_ten_of_each_class_and_the_rest_has_no_label():
    drawn, other = sample("clinc150", 1500, 0), sample("clinc150", 1500, 1)
    labels = np.concatenate([drawn.labelled.train.labels, drawn.labelled.dev.labels])
    assert np.bincount(labels).tolist() == [10] * 150
    assert len(drawn.labelled.dev.texts) == 200 and len(drawn.labelled.test.texts) == 4500
    whole = datasets.load("clinc150").train.texts
    texts = [*drawn.labelled.train.texts, *drawn.labelled.dev.texts, *drawn.unlabelled]
    assert sorted(texts) == sorted(whole)
    assert set(drawn.unlabelled) != set(other.unlabelled)


class Letters:
    """An encoder of four letters."""

    def vectors(self, texts):
        return np.array([[text.count(letter) for letter in "abcd"] for text in texts], float)


def test_the_teacher_answers_in_the_order_of_the_labels():
    texts = ["aa", "a", "bb", "b", "cc", "c"] * 5
    train = Split(texts, np.array([0, 0, 1, 1, 3, 3] * 5, np.int32))
    answers = few_labels.taught(train, Letters())(["aaa", "bbb", "ccc"])
    assert answers.shape == (3, 4) and answers.argmax(axis=1).tolist() == [0, 1, 3]
    assert not answers[:, 2].any()  # no text of it
    np.testing.assert_allclose(answers.sum(axis=1), 1, atol=1e-6)


def test_vectors_of_texts_are_kept_by_their_text(tmp_path, monkeypatch):
    asked = []

    def embedded(self, texts):
        asked.append(list(texts))
        return np.array([[len(text)] * sentence_encoder.WIDTH for text in texts], np.float16)

    monkeypatch.setattr(sentence_encoder.SentenceEncoder, "_embedded", embedded)
    first = sentence_encoder.SentenceEncoder(tmp_path).vectors(["a", "bb", "a"])
    again = sentence_encoder.SentenceEncoder(tmp_path).vectors(["ccc", "bb"])
    assert asked == [["a", "bb"], ["ccc"]]
    assert first[:, 0].tolist() == [1, 2, 1] and again[:, 0].tolist() == [3, 2]


def test_rivals_of_words_learn_what_a_word_says(tmp_path):
    texts = [f"{word} number{n % 9}" for n in range(40) for word in ("good", "bad")]
    split = Split(texts, np.array([0, 1] * 40, np.int32))
    data = datasets.Dataset("made up", split, split, split, ("good", "bad"), "-")
    found = few_labels_rivals.tfidf(Sample(data, []), tmp_path)
    assert found["accuracy"] == 1.0 and found["bytes"] == 4 * (2 + 9 + 18)


@pytest.mark.parametrize("arms", [("random",), ("random", "vectors", "teacher")])
def test_the_table_has_a_line_for_each_sample(arms):
    rows = [
        {
            "spec": {"dataset": "trec", "labels": 100, "arm": arm, "seed": seed, "trials": 8},
            "files": [{"file_accuracy": 0.5 + seed / 100}, {"file_accuracy": 0.6}],
        }
        for arm in arms
        for seed in (0, 1)
    ]
    line = few_labels.table(rows).splitlines()[-1]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:5] == ["trec", "100", "8 trials", "2", "50.50 ± 0.71"]
    assert cells.count("50.50 ± 0.71") == len(arms) == cells.count("60.00 ± 0.00")


def test_searches_of_different_lengths_are_not_averaged():
    spec = {"dataset": "trec", "labels": 100, "arm": "random", "seed": 0, "minutes": 2.0}
    files = [{"file_accuracy": 0.5}, {"file_accuracy": 0.6}]
    rows = [{"spec": spec | {"workers": workers}, "files": files} for workers in (1, 2)]
    lines = few_labels.table(rows).splitlines()[2:]
    assert [line.split(" | ")[2] for line in lines] == ["2.0 min x 1", "2.0 min x 2"]


def test_the_way_is_that_from_the_random_start_to_the_teacher():
    rows = [
        {"spec": {"arm": arm}, "files": [{"file_accuracy": accuracy}]}
        for arm, accuracy in (("random", 0.5), ("teacher", 0.8))
    ]
    assert few_labels._of_the_way(rows, [{"accuracy": 0.9}]) == "75%"
    assert few_labels._of_the_way(rows, [{"accuracy": 0.4}]) == "-"  # it is no teacher
    assert few_labels._of_the_way(rows[:1], [{"accuracy": 0.9}]) == "-"
