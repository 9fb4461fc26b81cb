"""Constants that the converter computes from others, such as a row of a table for each word."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.constants import constants

LENGTH, WIDTH = 48, 16


class Positions(keras.layers.Layer):
    """The same rows for each example of a batch, as keras-hub has them."""

    def build(self, shape):
        self.table = self.add_weight(shape=shape[1:], initializer="normal")

    def call(self, vectors):
        return keras.ops.broadcast_to(self.table, keras.ops.shape(vectors))


def model():
    """Its segments are all 0, and read before the positions are added."""
    keras.utils.set_random_seed(0)
    names = ("ids", "segments")
    ids = {name: keras.Input((LENGTH,), dtype="int32", name=name) for name in names}
    vectors = keras.layers.Embedding(90, WIDTH, "normal")(ids["ids"])
    segments = keras.layers.Embedding(2, WIDTH, "normal")(ids["segments"])
    both = vectors * (segments + Positions()(vectors))
    return export.with_constants(keras.Model(ids, both), {"segments": 0})


@pytest.mark.few(1)
@pytest.mark.parametrize("recipe", ["int8", "float32", "dynamic_int4"])
@pytest.mark.parametrize("batch", [2, 1])
def test_rows_that_repeat_are_stored_once(recipe, batch):
    frozen = export.freeze(model(), recipe)
    file = frozen.convert(batch_size=batch)
    found = [one for one in constants(flatbuffer.parse(file)) if LENGTH in one.shape]
    assert [one.shape for one in found] == [(1, LENGTH, WIDTH)]
    ids = np.random.default_rng(0).integers(0, 90, (batch, LENGTH)).astype("int32")
    (output,) = Interpreter(file).run({"ids": ids}).values()
    np.testing.assert_allclose(output, frozen.model({"ids": ids}), rtol=1e-6, atol=1e-7)


class Output(keras.layers.Layer):
    """Constants that are needed in full: one is an output, one is multiplied as a matrix."""

    def call(self, numbers):
        ones = keras.ops.ones((LENGTH, WIDTH))
        return keras.ops.matmul(numbers, ones), keras.ops.ones((1, LENGTH, WIDTH))


def test_what_an_operator_needs_in_full_stays():
    given = keras.Input((3, LENGTH), name="given")
    file = export.convert(keras.Model(given, Output()(given)), "float32")
    numbers = np.random.default_rng(0).normal(size=(1, 3, LENGTH)).astype("float32")
    product, ones = Interpreter(file).run({"given": numbers}).values()
    sums = np.broadcast_to(numbers.sum(-1, keepdims=True), (1, 3, WIDTH))
    np.testing.assert_allclose(product, sums, rtol=1e-5, atol=1e-5)  # in another order
    np.testing.assert_array_equal(ones, np.ones((1, LENGTH, WIDTH)))
