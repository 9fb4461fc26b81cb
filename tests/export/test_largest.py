"""Places of the largest and smallest numbers in files, as NumPy finds them."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.core.keras_graph import largest_by_value
from kerascompact.runtime.interpreter import Interpreter

X = np.random.default_rng(0).normal(size=(3, 4, 5)).astype("float32")


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("keepdims", [False, True])
def test_places_are_those_of_numpy(name, axis, keepdims):
    wanted = getattr(np, name)(X, axis=axis, keepdims=keepdims)
    with largest_by_value():
        found = getattr(keras.ops, name)(X, axis=axis, keepdims=keepdims)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == getattr(keras.ops, name)(X).dtype


@pytest.mark.parametrize("recipe", ["float32", "int8"])
def test_a_file_answers_with_places(recipe):
    x = keras.Input((4, 5), name="x")
    outputs = {
        "largest": keras.layers.Identity(name="largest")(keras.ops.argmax(x, axis=-1)),
        "least": keras.layers.Identity(name="least")(keras.ops.argmin(x, axis=1, keepdims=True)),
    }
    file = Interpreter(export.convert(keras.Model(x, outputs), recipe))
    found = file.run({"x": X[:1]})
    np.testing.assert_array_equal(found["largest"], X[:1].argmax(-1))
    np.testing.assert_array_equal(found["least"], X[:1].argmin(1, keepdims=True))
