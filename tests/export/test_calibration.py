"""Representative data of every kind of input."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kerascompact import export
from kerascompact.export.calibration import calibration_runs

IDS, SCORES = tf.TensorSpec((1, 3), tf.int32), tf.TensorSpec((1, None), tf.float32)


def test_rows_of_one_input_and_of_two():
    runs = list(calibration_runs(np.arange(6).reshape(2, 3), {"ids": IDS})())
    assert [run["ids"].tolist() for run in runs] == [[[0, 1, 2]], [[3, 4, 5]]]
    assert runs[0]["ids"].dtype == np.int32
    data = {"ids": [[0, 1, 2]], "scores": [[0.5]]}
    (run,) = calibration_runs(data, {"ids": IDS, "scores": SCORES})()
    assert run["scores"].dtype == np.float32 and run["scores"].shape == (1, 1)
    nested = {"a": ["scores"], "b": "ids"}
    for same, structure in (
        ([[[0, 1, 2]], [[0.5]]], None),
        ((np.array([[0, 1, 2]]), np.array([[0.5]])), ["ids", "scores"]),
        ({"a": [[[0.5]]], "b": [[0, 1, 2]]}, nested),
    ):
        (again,) = calibration_runs(same, {"ids": IDS, "scores": SCORES}, structure=structure)()
        assert {k: v.tolist() for k, v in again.items()} == {k: v.tolist() for k, v in run.items()}


def test_batches_of_the_size_of_the_input():
    """The first rows again, where the last batch lacks some; one row where any number fits."""
    rows, three = np.arange(12).reshape(4, 3), tf.TensorSpec((3, 3), tf.int32)
    found = [run["ids"].tolist() for run in calibration_runs(rows, {"ids": three})()]
    assert found == [rows[[0, 1, 2]].tolist(), rows[[3, 0, 1]].tolist()]
    (first, *_) = calibration_runs(rows, {"ids": tf.TensorSpec((None, 3), tf.int32)})()
    assert first["ids"].tolist() == rows[:1].tolist()
    with pytest.raises(ValueError, match="as many rows each"):
        calibration_runs({"ids": rows, "scores": rows[:3]}, {"ids": three, "scores": three})


def test_texts_are_their_bytes():
    text = tf.TensorSpec((1, 4), tf.int32)
    (run,) = calibration_runs(["hi"], {"text": text}, text=True)()
    assert run["text"].tolist() == [[104, 105, 0, 0]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "`representative` must be given"),
        (
            np.zeros((2, 4)),
            r"must be examples of shape \[3\] for 'ids'. Received: representative=\(4,",
        ),
        (np.zeros((0, 3)), "`representative` must be an array with at least one row"),
        (np.full((2, 3), 0.9), "`representative` must be integers of type int32 for 'ids'"),
        (np.full((2, 3), np.nan), "`representative` must be integers of type int32 for 'ids'"),
        (np.full((2, 3), "7"), "`representative` must be integers of type int32 for 'ids'"),
        (np.full((2, 3), 9), r"`representative` must be ids in \[0, 9\) for 'ids'. Received: .*=9"),
        (np.full((2, 3), -1.0), r"`representative` must be ids in \[0, 9\) for 'ids'"),
        ({"other": np.zeros((2, 3))}, r"arrays for the inputs \['ids'\]"),
    ],
)
def test_refuses_data_that_does_not_fit(data, message):
    with pytest.raises(ValueError, match=message):
        calibration_runs(data, {"ids": IDS}, num_ids={"ids": 9})


def test_refuses_unequal_rows_and_what_is_no_text():
    specs = {"ids": IDS, "scores": SCORES}
    with pytest.raises(ValueError, match="as many rows each"):
        calibration_runs({"ids": np.zeros((2, 3)), "scores": np.zeros((1, 2))}, specs)
    with pytest.raises(ValueError, match="arrays for the inputs"):
        calibration_runs(np.zeros((2, 3)), specs)
    for data in ("text", [1], []):
        with pytest.raises(ValueError, match="`representative` must be a list of at least"):
            calibration_runs(data, {"text": tf.TensorSpec((1, 4), tf.int32)}, text=True)


@pytest.mark.parametrize("recipe", ["full_int8", export.Recipe("own", "float32", "int16x8")])
def test_refuses_numbers_that_are_not_finite(recipe):
    """TensorFlow's process would end while it rounds them, and take the trained model with it."""
    counts = keras.Input((3,), name="counts")
    model = keras.Model(counts, keras.layers.Dense(2)(keras.ops.sigmoid(keras.ops.log(counts))))
    for wrong in (np.inf, np.nan, 1e39):
        with pytest.raises(ValueError, match=r"`representative\['counts'\]` must hold finite"):
            export.convert(model, recipe, representative=np.full((2, 3), wrong))
    for wrong in (0.0, -1.0):  # whose logarithm is -inf, and no number
        with pytest.raises(ValueError, match="finite numbers in every layer.*Log'"):
            export.convert(model, recipe, representative=np.full((4, 3), wrong))
