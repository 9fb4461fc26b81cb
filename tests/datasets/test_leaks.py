"""Labels in their texts: found where they were put, and not where words are natural."""

import numpy as np
import pytest

from kerascompact.datasets.base import Split
from kerascompact.datasets.leaks import leaks
from kerascompact.text.rules import KIM, WORDPUNCT, WORDPUNCT_PAIRS

NAMES = ["credit_card", "balance", "On hold", "7"]


def split(add=lambda text, label: text, rows=200, seed=0):
    random = np.random.default_rng(seed)
    labels = random.permutation(np.arange(rows) % len(NAMES)).astype(np.int32)
    words = random.choice([f"word{n}" for n in range(40)], (rows, 5))
    found = [add(" ".join(row), NAMES[label]) for row, label in zip(words, labels, strict=True)]
    return Split(found, labels)


def lines(made, rules=WORDPUNCT):
    return [*leaks(made, NAMES, rules)]


@pytest.mark.parametrize("rules", [WORDPUNCT, WORDPUNCT_PAIRS, KIM])
@pytest.mark.parametrize(
    "add",
    [
        lambda text, label: f"{label}: {text}",
        lambda text, label: f"{text} ({label.replace('_', ' ').upper()})",
    ],
)
def test_names_in_all_texts(add, rules):
    (line,) = lines(split(add), rules)
    assert line.startswith("Nearly every text of each of 4 labels 'credit_card', 'balance', 'On")
    assert "contains its name, which hardly any other text does" in line


def test_names_of_one_label():
    (line,) = lines(split(lambda text, label: text + " balance" * (label == "balance")))
    assert line.startswith("Nearly every text of the label 'balance' contains its name")


def test_a_word_of_its_own():
    (line,) = lines(split(lambda text, label: text + " (reuters)" * (label == "7")))
    assert "of the label '7' (" in line and "contains one word" in line


def test_several_labels_a_text():
    made = split(lambda text, label: f"{label} {text}")
    matrix = np.eye(4, dtype=np.uint8)[made.labels]
    matrix[:20] = 0
    texts = [text if row.any() else "word1" for text, row in zip(made.texts, matrix, strict=True)]
    assert "contains its name" in lines(Split(texts, matrix))[0]


@pytest.mark.parametrize(
    "add",
    [
        lambda text, label: text,
        lambda text, label: f"{text} balance",  # of all labels
        lambda text, label: text + " balance" * (label == "balance" and text[4] != "1"),
    ],
)
def test_words_that_tell_nothing(add):
    assert lines(split(add)) == []


def test_labels_with_few_rows_are_left_alone():
    assert lines(split(lambda text, label: f"{label} {text}", rows=36)) == []


def test_fasttexts_marks():
    (first, *_) = lines(split(lambda text, label: f"__label__{label} {text}"))
    assert first.startswith("Texts contain '__label__'")


def test_a_sample_of_long_texts():
    made = split(lambda text, label: f"{label} " + text * 1000, rows=300)
    assert "contains its name" in lines(made)[0]
