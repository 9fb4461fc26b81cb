"""Arrays beside a model's inputs."""

import keras
import numpy as np
import pytest

from kerascompact.layers.graph.constants import Constants

ARRAYS = {"edges": np.array([[0, 1], [1, 2]]), "weights": [0.5, 2.0], "known": [True, False, True]}


def model():
    inputs = keras.Input((3,), name="x")
    held = Constants(ARRAYS)(inputs)
    assert held["edges"].shape == (2, 2) and held["edges"].dtype == "int32"
    assert held["weights"].dtype == "float32" and held["known"].dtype == "bool"
    return keras.Model(inputs, keras.ops.sum(inputs) + keras.ops.sum(held["weights"]))


def test_gives_its_arrays_to_any_input():
    layer = Constants(ARRAYS)
    for inputs in (np.zeros((2, 3)), np.array(7)):
        held = layer(inputs)
        assert list(held) == list(ARRAYS)
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(held[name], array)
    assert not layer.trainable_weights and len(layer.weights) == 3


def test_arrays_are_saved_with_the_model(tmp_path):
    first = model()
    first.save(tmp_path / "m.keras")
    again = keras.models.load_model(tmp_path / "m.keras")
    assert float(again(np.ones((1, 3)))) == float(first(np.ones((1, 3)))) == 5.5
    copy = keras.models.clone_model(first)
    assert float(copy(np.ones((1, 3)))) == 3.0, "numbers come with the weights"
    copy.set_weights(first.get_weights())
    assert float(copy(np.ones((1, 3)))) == 5.5


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({}, "`arrays` must be a dictionary of at least one array"),
        ([1, 2], "`arrays` must be a dictionary of at least one array"),
        ({"words": np.array(["a"])}, "`arrays` must be a dictionary of arrays of numbers"),
        ({"big": np.array([2**40])}, r"`big` must lie in \[-2\^31, 2\^31\)"),
        ({"weights": [np.inf]}, "`weights` must hold finite numbers only"),
    ],
)
def test_refuses(arrays, message):
    with pytest.raises(ValueError, match=message):
        Constants(arrays)
