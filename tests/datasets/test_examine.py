"""Each problem in a data set made to have it, and none in one made to have none."""

import time

import numpy as np
import pytest

from kerascompact.datasets import from_texts, load, problems
from kerascompact.datasets.base import Dataset, Split

WORDS = [f"word{n}" for n in range(50)]


def texts(rows, seed=0, length=6):
    random = np.random.default_rng(seed)
    return [" ".join(row) for row in random.choice(WORDS, (rows, length))]


def good(rows=200, several=False, seed=0):
    """Different texts of two labels in turn."""
    labels = [["a"], ["b", "a"]] if several else ["a", "b"]
    return from_texts(texts(rows, seed), [*labels] * (rows // 2), test=0.1)


def found(data, about, **options):
    """The sentences with certain words in them."""
    return [line for line in problems(data, **options) if about in line]


@pytest.mark.parametrize("several", [False, True])
def test_a_good_data_set_has_none(several):
    label_a_of_all = [line for line in problems(good(several=several)) if "Judge" not in line]
    assert label_a_of_all == []
    assert problems(load("clinc150"))[0].startswith("dev: 3 of 3,000 texts (0.1 %) are in train;")


def test_equal_texts_across_splits():
    data = good()
    again = [data.train.texts[0].upper(), data.train.texts[1].replace(" ", "  ")]
    data.dev.texts[:2] = again
    data.test.texts[3] = data.dev.texts[5]
    assert found(data, "are in")[0].startswith("dev: 2 of 20 texts (10.0 %) are in train; right")
    assert found(data, "are in")[1].startswith("test: 1 of 20 texts (5.0 %) are in dev")
    assert len(found(data, "are in")) == 2
    assert found(data, "dev:", rules="whitespace")[0].startswith("dev: 1 of 20")


def test_tokens_decide_what_is_equal():
    train = Split(["a,b", "a b", "ab", "c"], np.array([0, 1, 0, 1], np.int32))
    dev = Split(["A , b", "a\u00a0b"], np.array([0, 1], np.int32))
    data = Dataset("mine", train, dev, Split([], train.labels[:0]), ("x", "y"), "")
    assert found(data, "dev:")[0].startswith("dev: 1 of 2")


def test_one_text_of_two_labels():
    data = good(several=True)
    both, only = (np.flatnonzero(data.train.labels[:, 1] == value) for value in (1, 0))
    data.train.texts[both[0]] = data.train.texts[only[0]]
    data.train.texts[both[1]] = data.train.texts[both[2]]  # the same labels
    (line,) = found(data, "different labels")
    assert line.startswith("1 text has different labels in different rows (2 rows)")


@pytest.mark.parametrize("several", [False, True])
def test_a_label_of_nearly_all_rows(several):
    labels = ["often"] * 194 + ["rare"] * 6
    data = from_texts(texts(200), [[label] for label in labels] if several else labels)
    (line,) = found(data, "of the rows have the label")
    assert line.startswith("97.2 % of the rows have the label 'often'")


def test_labels_of_one_row_or_none():
    labels = ["a", "b"] * 100 + ["once", "single"]
    data = from_texts(texts(202), labels)
    (line,) = found(data, "one row")
    assert line.startswith("2 of 4 labels have one row in train: 'once', 'single'.")
    lacks = Dataset("mine", data.train, data.dev, data.test, (*data.label_names, "none"), "")
    assert found(lacks, "no row")[0].startswith("1 of 5 labels have no row in train: 'none'.")


def test_long_texts():
    data = good()
    data.train.texts[0] = "word " * 5000
    (line,) = found(data, "words, the longest")
    assert line.startswith("1 of 200 texts have more than 1,000 words, the longest 5,000, half of")


def test_texts_without_a_token():
    data = good()
    data.train.texts[:2] = ["\u4f60\u597d", "\u043c\u0438\u0440"]
    assert found(data, "no token") == []  # wordpunct takes any character
    (line,) = found(data, "no token", rules="kim")
    assert line.startswith("2 of 200 texts have no token under the rules 'kim', such as")


def test_damaged_characters():
    data = good()
    data.train.texts[0] = "caf\ufffd"
    assert found(data, "U+FFFD")[0].startswith("1 of 200 texts have characters that were lost")


def test_scripts_without_spaces():
    """Also in short texts, which chats and commands consist of."""
    chinese = ["\u6253\u5f00\u5ba2\u5385\u7684\u706f"] * 25 + ["on"] * 15
    assert found(from_texts(chinese, ["a", "b"] * 20), "no spaces between words")
    assert found(from_texts(chinese[10:] + ["off"] * 10, ["a", "b"] * 20), "no spaces") == []


def test_rejects_rules():
    with pytest.raises(ValueError, match="`rules` must be one of"):
        problems(good(), rules="none")


def test_is_fast():
    """20,000 rows of 10 words and 1,000 labels: 0.1 s on a free core."""
    data = from_texts(texts(20_000, length=10), np.arange(20_000) % 1000)
    start = time.perf_counter()
    problems(data)
    assert time.perf_counter() - start < 1.5


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        (["Up", "up ", "down"], "as different ones: 'Up' and 'up'."),
        (["turn  up", "turn up"], "'turn  up' and 'turn up'."),
        (["1.0", "1", "2"], "'1' and '1.0'."),
        (["nan", "NaN", "2"], "'NaN' and 'nan'."),
        (["caf\u00e9", "cafe\u0301"], "the same, but are trained"),
        (["a", "b", "a;b", "b;a"], "2 of 4 labels look like several, such as 'a;b'"),
        ([["a"], ["b"]], "Every text has exactly one label, though texts may have several"),
    ],
)
def test_labels_that_are_not_what_was_meant(labels, line):
    rows = 24 * len(labels)
    assert len(found(from_texts(texts(rows), labels * 24), line)) == 1


@pytest.mark.parametrize(
    "labels",
    [
        ["one, two", "three"],
        ["a|b", "c|d"],
        ["1", "2"],
        [["a"], ["a", "b"]],
        [2**53, 2**53 + 1],  # the same as floats
        ["1_12", "11_2"],  # codes of a hierarchy, which Python reads as 112
    ],
)
def test_labels_that_are_meant(labels):
    lines = problems(from_texts(texts(24 * len(labels)), labels * 24))
    assert not [line for line in lines if "several" in line or "may be the same" in line]


@pytest.mark.parametrize(
    ("rules", "one", "other"),
    [
        ("kim", "Hello; world", "hello world"),
        ("kim", "caf\u00e9 \u597d world", "caf world"),  # a letter, and not of ASCII
        ("kim", "\u0130x", "x"),  # lower() makes an ASCII i of it
        # lower() looks around a sigma
        ("wordpunct", "\u0391\u03a3.\u0391", "\u0391\u03a3 .\u0391"),
    ],
)
def test_texts_are_equal_if_their_tokens_are(rules, one, other):
    train, dev = (Split([text], np.array([label])) for label, text in enumerate((one, other)))
    data = Dataset("d", train, dev, Split([], np.zeros(0, int)), ("a", "b"), "")
    assert any("1 of 1 texts" in problem for problem in problems(data, rules))
