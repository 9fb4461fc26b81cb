"""Searches on data that is not as one would like it."""

import importlib
import math
from types import SimpleNamespace

import numpy as np
import pytest

from kerascompact.runtime import TextClassifier
from kerascompact.search import text_classifier

ONE = {"workers": 1, "trials": 1, "verbose": False, "minutes": 9}


def right(found, texts, labels):
    """Share of right answers of the file itself."""
    classifier = TextClassifier(found.best.file)
    answers = [classifier.predict(text).label for text in texts]
    return np.mean([answer == label for answer, label in zip(answers, labels, strict=True)])


def sentences(topics, rows, seed=0):
    """Sentences without spaces: characters of a topic between others."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, len(topics), rows)
    noise = [chr(0x4E00 + place) for place in range(40)]
    texts = []
    for label in labels:
        letters = random.choice(noise, 14)
        letters[random.integers(0, 14, 3)] = random.choice(list(topics[label]), 3)
        texts.append("".join(letters))
    return texts, [f"topic {label}" for label in labels]


@pytest.mark.slow
def test_a_script_without_spaces():
    texts, labels = sentences(["\u6253\u5f00\u5173\u95ed", "\u97f3\u4e50\u6b4c\u66f2"], 400)
    found = text_classifier((texts[:300], labels[:300]), "16KiB", **ONE)
    assert found.best.setting.rules.startswith("characters")
    assert right(found, texts[300:], labels[300:]) > 0.9  # chance is 1/2


TEXTS = ["turn it up", "make it louder", "", " ", "turn it down", "be quiet \u201cnow\u201d"] * 20
LABELS = ["up", "up", "none", "none", "down", "down"] * 20


@pytest.fixture(scope="module")
def in_no_time():
    """A search on empty texts and a class with one row, without time, and what it warns of."""
    data = [*TEXTS, "\x00 \U0001f600"], [*LABELS, "odd"]
    with pytest.warns(UserWarning) as caught:
        found = text_classifier(data, "16KiB", **{**ONE, "minutes": 0.001})
    return found, [str(one.message) for one in caught]


@pytest.mark.slow
def test_empty_texts_and_a_class_with_one_row(in_no_time):
    found, warned = in_no_time
    assert any("40 of 121 rows have an empty text" in line for line in warned)
    assert found.facts["labels"] == ("down", "odd", "up")
    assert right(found, TEXTS[:2] + TEXTS[4:6], LABELS[:2] + LABELS[4:6]) == 1


@pytest.mark.slow
def test_two_rows_a_class_and_very_long_texts():
    random = np.random.default_rng(0)
    words = [f"w{number}" for number in range(300)]
    texts, labels = [], []
    for row in range(60):
        label = f"class {row % 30}"
        texts.append(
            " ".join([*random.choice(words, 4), f"sign{row % 30}", "pad " * (row % 3) * 900])
        )
        labels.append(label)
    found = text_classifier((texts, labels), "20KiB", **ONE)
    assert len(found.best.file) <= 20 * 1024 and right(found, texts, labels) > 0.2  # chance: 1/30


@pytest.mark.slow
def test_warns_of_texts_in_both_splits():
    texts, labels = ["turn it up", "turn it down"] * 30, ["up", "down"] * 30
    with pytest.warns(UserWarning, match="of 18 texts .* are in train"):
        found = text_classifier((texts, labels), "12KiB", **{**ONE, "verbose": True})
    assert any("are in train" in line for line in found.facts["warnings"])


@pytest.mark.slow
def test_a_thousand_classes():
    texts = [
        f"call number {row % 1000} {word}"
        for word in ["now", "please", "soon"]
        for row in range(1000)
    ]
    labels = [text.split()[2] for text in texts]
    found = text_classifier((texts, labels), "64KiB", **ONE)
    assert right(found, texts[:300], labels[:300]) > 0.5


@pytest.mark.slow
def test_two_words_are_all_there_are():
    found = text_classifier((["yes", "no"] * 60, ["yes", "no"] * 60), "8KiB", **ONE)
    assert right(found, ["yes", "no"], ["yes", "no"]) == 1


@pytest.mark.slow
def test_one_training_ends_whatever_the_minutes(in_no_time):
    found, warned = in_no_time
    assert any("No training ended in time: one goes on now" in line for line in warned)
    assert len(found.trials) == 1 and len(found.best.file) <= 16 * 1024


def test_trains_until_one_setting_fits_if_no_training_ended_in_time():
    train_one = importlib.import_module("kerascompact.search.text_classifier")._train_one
    tried = []
    studies = SimpleNamespace(ranking=lambda budget: tried[2:], bury=lambda: None)
    worker = SimpleNamespace(studies=studies, run=lambda *given: tried.append(given))
    with pytest.warns(UserWarning, match="No training ended in time: one goes on now"):
        train_one(worker, 100)
    assert tried == [(100, math.inf)] * 3  # two settings do not fit
    train_one(worker, 100)  # one has ended: without a warning, which is an error here
    assert len(tried) == 3
