"""Tables of layers of one's own and of positions: stored as int8, with the outputs of Keras."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter

V, WIDTH, STEPS = 300, 16, 6


class Scaled(keras.layers.Embedding):
    """Another `call`, so that it is not Keras' table."""

    def call(self, inputs):
        return 2 * super().call(inputs)


class Summed(keras.layers.Layer):
    """Two tables, one of them read twice."""

    def build(self, shape):
        self.first = self.add_weight(shape=(V, WIDTH), initializer="normal", name="first")
        self.second = self.add_weight(shape=(9, 4, WIDTH), initializer="normal", name="second")

    def call(self, ids):
        one, other = (keras.ops.take(self.first, ids + n, axis=0) for n in (0, 1))
        return one * other + keras.ops.sum(keras.ops.take(self.second, ids % 9, axis=0), axis=-2)


class Positions(keras.layers.Layer):
    """The first rows of a table, as many as there are words, as keras-hub has them."""

    def build(self, shape):
        self.table = self.add_weight(shape=(V, WIDTH), initializer="normal")

    def call(self, vectors):
        shape = keras.ops.shape(vectors)
        return keras.ops.broadcast_to(keras.ops.slice(self.table, (0, 0), shape[1:]), shape)


@pytest.mark.parametrize(
    ("length", "batch", "rows"),
    [
        (None, 1, V),  # read by SLICE
        pytest.param(90, 1, 90, marks=pytest.mark.slow),  # the converter cuts the table
        (90, None, 90),  # and BROADCAST_TO reads it
    ],
)
def test_positions_are_int8_whatever_the_length(length, batch, rows):
    numbers = keras.Input((length, WIDTH), name="numbers")
    frozen = export.freeze(keras.Model(numbers, numbers + Positions()(numbers)), "int8")
    file = frozen.convert(batch_size=batch)
    assert rows * WIDTH < len(file) < rows * WIDTH + 3000  # 4 times as many in float32
    given = np.random.default_rng(0).normal(size=(1, 90, WIDTH)).astype("float32")
    (found,) = Interpreter(file).run({"numbers": given}).values()
    np.testing.assert_allclose(found, frozen.model(given), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("recipe", ["int8", "dynamic", "int4"])
@pytest.mark.parametrize("make", [lambda: Scaled(V, WIDTH), Summed])
def test_a_table_of_an_unknown_layer_is_int8_in_the_file(make, recipe):
    ids = keras.Input((STEPS,), dtype="int32")
    frozen = export.freeze(keras.Model(ids, make()(ids)), recipe)
    file = frozen.convert()
    assert V * WIDTH < len(file) < V * WIDTH + 5000
    (size,) = frozen.summary().layers
    assert size.stored_bits < 8 * len(file)
    rng = np.random.default_rng(0)
    given = rng.integers(0, V - 1, (20, STEPS)).astype(np.int32)
    run = Interpreter(file)
    (name,) = run.inputs
    found = np.concatenate([next(iter(run.run({name: one[None]}).values())) for one in given])
    np.testing.assert_allclose(found, frozen.model(given), rtol=1e-6, atol=1e-7)
    frozen.verify(given, file=file)
