"""Data sets from lists: what is taken, how it is split, and what is refused."""

import numpy as np
import pytest

from kerascompact.datasets import from_texts
from kerascompact.datasets.base import DataWarning

TEXTS, LABELS = ["turn it up", "turn it down"] * 10, ["louder", "softer"] * 10


def everything(data):
    return [
        (text, data.label_names[label])
        for split in (data.train, data.dev, data.test)
        for text, label in zip(split.texts, split.labels, strict=True)
    ]


@pytest.mark.parametrize("kind", [list, tuple, np.array, iter])
def test_lists_of_any_kind(kind):
    data = from_texts(kind(TEXTS), kind(LABELS), dev=0.2, test=0.3)
    assert [len(split.texts) for split in (data.train, data.dev, data.test)] == [10, 4, 6]
    assert sorted(everything(data)) == sorted(zip(TEXTS, LABELS, strict=True))
    assert all(type(text) is str for text, _ in everything(data))
    assert data.name == "texts" and data.about == "texts: 20 rows."


def test_without_test():
    data = from_texts(TEXTS, LABELS)
    assert data.test.texts == [] and data.test.labels.shape == (0,)
    assert data.train.labels.dtype == data.test.labels.dtype == np.int32


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([10, 9], ("9", "10")),
        ([10**10, 10**10 - 1], ("9999999999", "10000000000")),
        (np.array([1, 0], np.uint8), ("0", "1")),
        ([True, False], ("False", "True")),
        ([2.0, 1.0], ("1", "2")),  # as pandas has whole numbers beside missing ones
        ([-1, 1], ("-1", "1")),
        (["b ", "a"], ("a", "b")),
        ([1, "one"], ("1", "one")),
    ],
)
def test_labels_of_any_kind(labels, names):
    data = from_texts(TEXTS, [*labels] * 10)
    assert data.label_names == names
    assert sorted(data.dev.labels) == [0, 1]


@pytest.mark.parametrize("kind", [list, tuple, set, frozenset])
def test_several_labels_a_text(kind):
    labels = [kind([2, 3]), kind([10]), kind([]), kind([2])] * 5
    data = from_texts(["a", "b", "c", "d"] * 5, labels, dev=0.25)
    assert data.multi_label and data.label_names == ("2", "3", "10")
    wanted = {"a": [1, 1, 0], "b": [0, 0, 1], "c": [0, 0, 0], "d": [1, 0, 0]}
    for split in (data.train, data.dev):
        assert split.labels.dtype == np.uint8
        assert split.labels.tolist() == [wanted[text] for text in split.texts]
    assert data.test.labels.shape == (0, 3)


def test_parts_of_its_own():
    data = from_texts(TEXTS, LABELS, dev=(["more"], ["louder"]), test=(["less"], ["softer"]))
    assert (len(data.train.texts), data.dev.texts, data.test.texts) == (20, ["more"], ["less"])
    assert (data.dev.labels.tolist(), data.test.labels.tolist()) == ([0], [1])
    several = from_texts(TEXTS, [["a"], ["b", "a"]] * 10, dev=(["x", "y"], [[], ["b"]]))
    assert several.dev.labels.tolist() == [[0, 0], [0, 1]]
    with pytest.raises(ValueError, match=r"`dev\[0\]`, row 1: label 'up' does not occur in train"):
        from_texts(TEXTS, LABELS, dev=(["x", "y"], ["louder", "up"]))
    with pytest.raises(ValueError, match=r"`test\[1\]\[0\]` must be a list of labels, as others"):
        from_texts(TEXTS, [["a"], ["b"]] * 10, test=(["x"], ["a"]))
    with pytest.raises(ValueError, match=r"`dev\[1\]\[0\]` must be a string or an integer"):
        from_texts(TEXTS, LABELS, dev=(["x"], [["louder"]]))


def test_missing_values_are_left_out():
    texts, labels = [*TEXTS, None, "", " ", "x", "y"], [*LABELS, "louder", "softer", "softer"]
    with pytest.warns(DataWarning, match="`texts`: 5 of 25 rows .* the first in row 20; they are"):
        data = from_texts(texts, [*labels, float("nan"), None])
    assert sorted(everything(data)) == sorted(zip(TEXTS, LABELS, strict=True))
    na = type("NAType", (), {})()  # as a column of pandas may have
    with pytest.warns(DataWarning, match="3 of 23 rows"):
        data = from_texts([*TEXTS, na, "x", "y"], [*LABELS, "softer", na, np.float32("nan")])
    assert sorted(everything(data)) == sorted(zip(TEXTS, LABELS, strict=True))
    with pytest.raises(ValueError, match="`texts`: 3 of 5 rows have an empty.*more than half"):
        from_texts(["a", "b", "", "", ""], [1, 2, 1, 2, 1])


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("a text", ["a"], "`texts` must be a list. Received: texts='a text'"),
        (["a"], {"a": 1}, "`labels` must be a list"),
        (["a"], np.zeros((1, 2)), "`labels` must be each text's label, or .*not rows of 0 and 1"),
        (["a", "b"], [[0, 1], [1, 1]], "names; not rows of 0 and 1. Received: labels=.*0, 1"),
        (["a", "b"], [(0.0, 1.0), (True, 0)], "names; not rows of 0 and 1"),
        (3, ["a"], "`texts` must be a list"),
        ([], [], "`texts` must be a list that is not empty"),
        (["a", "b"], ["x"], "same length. Received: 2 texts and 1 labels"),
        (["a", "b\ud83d"], ["x", "y"], r"`texts\[1\]` must be valid Unicode, without a lone"),
        (["a", "b"], ["x", "y\ud83d"], r"`labels\[1\]` must be valid Unicode, without a lone"),
        (["a", 3], ["x", "y"], r"`texts\[1\]` must be a str. Received: texts\[1\]=3"),
        (["a", b"b"], ["x", "y"], r"`texts\[1\]` must be a str"),
        (["a", "b"], ["x", 1.5], r"`labels\[1\]` must be a string or an integer"),
        (["a", "b"], ["x", ["y"]], r"`labels\[0\]` must be a list of labels, as others are"),
        (["a", "b"], [["x"], [["y"]]], r"`labels\[1\]` must be a string or an integer"),
        (["a", "b"], ["x", "y\nz"], r"the label 'y\\nz' contains a line break"),
        (["a", "b"], ["x", "y\tz"], r"the label 'y\\tz' contains a line break or a tab"),
        (["a", "b"], ["x", "x"], r"at least 2 classes. Received: 1 \('x'\)"),
        (["a", "b"], [["x"], []], r"at least 2 classes. Received: 1 \('x'\)"),
        (
            ["a", "b"],
            ["x", "y"],
            "2 rows of 2 classes are too few to hold out any for dev: .* Give the",
        ),
    ],
)
def test_refuses(texts, labels, message):
    with pytest.raises(ValueError, match=message):
        from_texts(texts, labels)


@pytest.mark.parametrize("value", [0, 1.0, "0.1", None, True, (1, 2, 3)])
def test_refuses_shares(value):
    with pytest.raises(ValueError, match=r"`dev` must be a number in \(0, 0.9\]"):
        from_texts(TEXTS, LABELS, dev=value)


@pytest.mark.parametrize(("rows", "classes"), [(200, 2), (200, 140), (2_500, 1_000)])
def test_few_rows_of_many_classes(rows, classes):
    labels = [row % classes for row in range(rows)]
    data = from_texts([f"text {row}" for row in range(rows)], labels, test=0.1)
    assert set(data.train.labels.tolist()) == set(range(classes))
    assert len(data.dev.texts) == len(data.test.texts) == rows // 10


def test_is_seeded():
    texts = [f"text {row}" for row in range(40)]
    first, again, other = (from_texts(texts, LABELS * 2, seed=s).dev.texts for s in (0, 0, 1))
    assert first == again != other


def test_a_row_without_labels_may_lack_their_list():
    texts, labels = [f"text {n}" for n in range(30)], [["a"], ["b", "a"]] * 15
    labels[7] = None
    with pytest.warns(DataWarning, match="1 of 30 rows have an empty text or label"):
        data = from_texts(texts, labels)
    assert data.multi_label and len(data.train.texts) + len(data.dev.texts) == 29


def test_negative_labels_are_in_order_of_value():
    texts = [f"text {n}" for n in range(50)]
    assert from_texts(texts, [-2, 10, -10, 0, 1] * 10).label_names == ("-10", "-2", "0", "1", "10")


def test_rows_whose_classes_grow_as_others_are_held_out():  # the rarest label changes
    labels = [[0, 3], [1, 2], [0, 2], [1, 2, 3]]
    with pytest.raises(ValueError, match="`texts`: 4 rows of 4 labels are too few to hold out any"):
        from_texts(list("abcd"), labels, test=0.1)
