"""Names, shapes and types of a file's inputs."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.runtime.interpreter import Interpreter

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("recipe", ["float32", "int8", "dynamic"])
@pytest.mark.parametrize("mask_zero", [False, True])
def test_a_sequential_model_without_an_input_takes_integers(recipe, mask_zero):
    """Keras gives it float inputs: the file took floats, and ids of any size."""
    table, dense = keras.layers.Embedding(50, 8, mask_zero=mask_zero), keras.layers.Dense(2)
    model = keras.Sequential([table, keras.layers.GlobalAveragePooling1D(), dense])
    ids = RANDOM.integers(0, 50, (9, 6))
    model(ids)
    file = export.convert(model, recipe)
    ((name, only),) = Interpreter(file).inputs.items()
    assert only["dtype"] == np.int32
    export.verify(model, file, ids)
    with pytest.raises(ValueError, match=r"must lie in \[0, 50\)"):
        export.verify(model, file, ids + 50)
    kept = (ids > 0)[..., None] if mask_zero else np.ones((9, 6, 1))
    means = (table.get_weights()[0][ids] * kept).sum(1) / kept.sum(1)
    expected = means @ dense.get_weights()[0] + dense.get_weights()[1]
    found = [next(iter(Interpreter(file).run({name: row[None]}).values())) for row in ids]
    np.testing.assert_allclose(np.concatenate(found), expected, atol=0.02)


def test_floats_that_are_also_read_as_numbers_stay_floats():
    numbers = keras.Input((3,), name="x")
    vectors = keras.layers.Flatten()(keras.layers.Embedding(9, 4)(numbers))
    model = keras.Model(numbers, keras.layers.Concatenate()([vectors, numbers]))
    assert Interpreter(export.convert(model)).inputs["x"]["dtype"] == np.float32


@pytest.mark.skipif(not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13")
def test_what_a_table_scores_are_no_ids():
    table = keras.layers.ReversibleEmbedding(50, 8)
    ids, x = keras.Input((3,), dtype="int32", name="ids"), keras.Input((8,), name="x")
    model = keras.Model([ids, x], [table(ids), table(x, reverse=True)])
    inputs = Interpreter(export.convert(model, "float32")).inputs
    assert (inputs["ids"]["dtype"], inputs["x"]["dtype"]) == (np.int32, np.float32)
