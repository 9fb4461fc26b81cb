"""Scores of all words in one operator, over a table that is also looked up."""

import keras
import numpy as np
import pytest

from kerascompact import export
from kerascompact.forms import DenseForm, RowScaledForm
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.tflite import flatbuffer

WIDTH = 16
RANDOM = np.random.default_rng(0)


def made(rows, precision):
    """A model that looks up and scores, and its table."""
    table = RANDOM.normal(size=(rows, WIDTH)).astype("float32")
    form = RowScaledForm.from_table(table, precision)
    ids = keras.Input((3,), dtype="int32", name="ids")
    x = keras.Input((3, WIDTH), name="x")
    model = keras.Model([ids, x], {"vectors": form(ids), "logits": form(x, reverse=True)})
    return model, form.table_values()


def file_of(model, kernels):
    """The file whose operator multiplies integers, or the exact one."""
    return export.convert(model, export.Recipe("some", "float32", kernels, "columns"))


@pytest.mark.parametrize(
    ("rows", "precision"),
    [
        (2500, "int4"),
        pytest.param(100, "int4", marks=pytest.mark.slow),
        pytest.param(2500, "int8", marks=pytest.mark.slow),
    ],
)
def test_one_operator_reads_the_table(rows, precision):
    model, table = made(rows, precision)
    fast = file_of(model, "dynamic")
    names = flatbuffer.operator_names(flatbuffer.parse(fast))
    assert names.count("FULLY_CONNECTED") == 1 and names.count("EMBEDDING_LOOKUP") == 1
    assert "CONCATENATION" not in names and "REDUCE_ANY" not in names
    x = RANDOM.normal(size=(1, 3, WIDTH)).astype("float32")
    given = {"ids": np.array([[0, 5, rows - 1]]), "x": x}
    found = Interpreter(fast).run(given)
    np.testing.assert_allclose(found["vectors"][0], table[[0, 5, rows - 1]], rtol=1e-6)
    logits = x @ table.T
    # inputs in 8 bits: half a step of 1/127 of the largest, for each of 16 products
    error = np.abs(x).max() / 254 * np.abs(table).sum(axis=1).max()
    assert 0 < np.abs(found["logits"] - logits).max() < error


@pytest.mark.slow
def test_the_exact_file_is_larger():
    model, table = made(2500, "int4")
    fast, exact = (file_of(model, kernels) for kernels in ("dynamic", "float32"))
    assert len(fast) < len(exact)
    x = RANDOM.normal(size=(1, 3, WIDTH)).astype("float32")
    found = Interpreter(exact).run({"ids": np.array([[0, 5, 2499]]), "x": x})
    np.testing.assert_allclose(found["logits"], x @ table.T, atol=1e-4)


def test_other_products_stay_as_they_are():
    """Vectors times some looked-up rows are no scores of all words."""
    table = RANDOM.normal(size=(4, WIDTH)).astype("float32")
    form = RowScaledForm.from_table(table, "int8")
    ids = keras.Input((4,), dtype="int32", name="ids")
    x = keras.Input((WIDTH,), name="x")
    rows = keras.ops.reshape(form(ids), (4, WIDTH))
    model = keras.Model([ids, x], keras.ops.matmul(x, keras.ops.transpose(rows)))
    recipe = export.Recipe("some", "float32", "dynamic", "columns")
    file = Interpreter(export.convert(model, recipe))
    vector, order = RANDOM.normal(size=(1, WIDTH)).astype("float32"), np.array([[2, 0, 1, 3]])
    (found,) = file.run({"ids": order, "x": vector}).values()
    np.testing.assert_allclose(found, vector @ form.table_values()[order[0]].T, atol=1e-5)


@pytest.mark.slow  # the operator that it uses is tried above
@pytest.mark.skipif(not hasattr(keras.layers, "ReversibleEmbedding"), reason="since Keras 3.13")
def test_a_recipe_has_it():
    layer = keras.layers.ReversibleEmbedding(300, WIDTH)
    ids = keras.Input((3,), dtype="int32")
    model = keras.Model(ids, layer(keras.layers.Dense(WIDTH)(layer(ids)), reverse=True))
    file = flatbuffer.parse(export.convert(model, "dynamic_int4"))
    names = flatbuffer.operator_names(file)
    assert names.count("FULLY_CONNECTED") == 2 and "GATHER" not in names
    frozen = export.freeze(model, "dynamic_int4").model
    assert not any(isinstance(one, DenseForm) for one in frozen.layers)
