"""Every structure of several inputs, and what must not be taken for one."""

import numpy as np
import pytest

from kerascompact.runtime.named_inputs import given_texts, named_inputs

RANKS = {"ids": 2, "scores": 2, "flags": 2}
IDS, SCORES, FLAGS = np.arange(6).reshape(2, 3), np.array([[0.5], [1.5]]), np.array([[True]] * 2)
NESTED = {"a": ["scores", "flags"], "b": "ids"}


@pytest.mark.parametrize(
    ("data", "structure"),
    [
        ([IDS, SCORES, FLAGS], None),
        ((IDS, SCORES, FLAGS), ["ids", "scores", "flags"]),
        ({"flags": FLAGS, "ids": IDS, "scores": SCORES}, None),
        ({"flags": FLAGS, "ids": IDS, "scores": SCORES}, NESTED),
        ({"b": IDS, "a": (SCORES, FLAGS)}, NESTED),
        ([IDS, SCORES, FLAGS], NESTED),  # flat, in the order of the inputs, as Keras takes it
        ([[SCORES, FLAGS], IDS], [["scores", "flags"], "ids"]),
        ([IDS.tolist(), SCORES.tolist(), FLAGS.tolist()], None),
    ],
)
def test_structures(data, structure):
    found = named_inputs("data", data, RANKS, structure)
    for name, array in {"ids": IDS, "scores": SCORES, "flags": FLAGS}.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize(
    ("data", "structure"),
    [
        (IDS, "ids"),
        (IDS.tolist(), None),
        ([IDS], ["ids"]),
        ((IDS,), None),
        ({"ids": IDS}, None),
        ({"x": IDS}, {"x": "ids"}),
        ([*IDS], ["ids"]),
    ],
)
def test_one_input(data, structure):
    (found,) = named_inputs("data", data, {"ids": 2}, structure).values()
    np.testing.assert_array_equal(found, IDS)
    (row,) = named_inputs("data", [[1, 2, 3]], {"ids": 2}, ["ids"]).values()
    assert row.shape == (1, 3)  # a list of one row, not of one array


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([IDS, SCORES], r"`data` must be arrays for the inputs \['ids', 'scores', 'flags'\], in a"),
        (IDS, "in a list or tuple of this order, or by name"),
        ({"ids": IDS, "scores": SCORES}, "`data` must be arrays for the inputs"),
        ([IDS, SCORES, FLAGS[:1]], "`data` must be arrays of as many rows each, at least one"),
        ([IDS[:0], SCORES[:0], FLAGS[:0]], "`data` must be arrays of as many rows each, at least"),
        ([IDS, SCORES, 1.0], "`data` must be arrays of as many rows each"),
    ],
)
def test_what_does_not_fit(data, message):
    with pytest.raises(ValueError, match=message):
        named_inputs("data", data, RANKS)


def test_texts_are_texts():
    for data in (["a", "b"], ("a", "b"), np.array(["a", "b"]), np.array(["a", "b"], object)):
        assert given_texts("data", data) == ["a", "b"]
    assert given_texts("data", [b"\xff"]) == [b"\xff"]
    for data in ("text", b"text", [1], [], [["a"]], np.array([["a"]]), {"text": ["a"]}):
        with pytest.raises(ValueError, match="`data` must be a list of at least one text, since"):
            given_texts("data", data)
