"""Keras' own embeddings by rows and by blocks: exact, and as small as their bits."""

import keras
import numpy as np
import pytest

from export_models import answers
from kerascompact import export, tools
from kerascompact.core.storage import total_bits
from kerascompact.export.recipe import Recipe
from kerascompact.runtime.interpreter import Interpreter

V = 200
RECIPES = {
    "int8 rows": Recipe("r8", "int8", stock_table="rows"),
    "int4 rows": Recipe("r4", "int4", stock_table="rows"),
    "blocks": Recipe("b", "int4", stock_table="blocks"),
    "int8_tables": export.RECIPES["int8_tables"],
    "int4_tables": export.RECIPES["int4_tables"],
}
IDS = np.array([[0, V - 1, 3, 3, 140, 7]])


def lookup(width=32, length=None):
    ids = keras.Input((length,), dtype="int32", name="ids")
    layer = keras.layers.Embedding(V, width, name="vectors")
    model = keras.Model(ids, layer(ids))
    random = np.random.default_rng(0)
    table = random.normal(size=(V, width)) * np.exp(random.normal(size=(V, 1)))  # long and short
    layer.embeddings.assign(table)
    return model


def outputs(data, ids=IDS):
    (found,) = Interpreter(data).run({"ids": ids}).values()
    return found


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["int8 rows", "int4 rows", "blocks"])
@pytest.mark.parametrize(("width", "length"), [(32, None), (40, 6), (5, None)])
def test_one_operator_looks_up_what_keras_does(name, width, length):
    model, recipe = lookup(width, length), RECIPES[name]
    data, frozen = export.convert(model, recipe, names=False), export.freeze(model, recipe).model
    np.testing.assert_array_equal(outputs(data), answers(frozen, IDS))
    found = tools.inspect(data)
    operators = found.operators
    assert operators["EMBEDDING_LOOKUP"] == 1 and not {"GATHER", "CAST", "MUL"} & set(operators)
    assert found.runtime == "2.18.0"


@pytest.mark.slow  # converts by five recipes
def test_sizes_and_errors_beside_a_scale_for_each_column():
    """A scale for each row is exacter where words differ in length, and dearer."""
    model, width = lookup(), 32
    exact = answers(model, np.arange(V)[None])[0]
    sizes, errors, graphs = {}, {}, {}
    for name, recipe in RECIPES.items():
        data, frozen = (
            export.convert(model, recipe, names=False),
            export.freeze(model, recipe).model,
        )
        found = outputs(data, np.arange(V)[None])[0]
        relative = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(exact, axis=1)
        errors[name] = np.sqrt(np.mean(relative**2))
        sizes[name] = len(data)
        zeros = 8 * V if "rows" in name else 0  # of the format, which wants one beside each scale
        stored = total_bits(frozen.layers[-1].storage()) / 8 + zeros
        graphs[name] = len(data) - stored
    assert max(graphs.values()) - min(graphs.values()) < 500 and max(graphs.values()) < 2000, graphs
    assert sizes["int4_tables"] < sizes["blocks"] < sizes["int4 rows"] < sizes["int8_tables"]
    assert sizes["int8_tables"] < sizes["int8 rows"]
    assert abs(sizes["blocks"] - sizes["int4_tables"] - V * 2 * width / 32) < 600
    assert errors["int8 rows"] < errors["int8_tables"] / 3
    assert (
        errors["int4 rows"] < errors["int4_tables"] / 3
        and errors["blocks"] < errors["int4_tables"] / 3
    )


def test_tied_logits_read_the_same_table():
    ids = keras.Input((6,), dtype="int32", name="ids")
    layer = keras.layers.ReversibleEmbedding(V, 32, name="tied")
    model = keras.Model(ids, layer(keras.layers.Activation("tanh")(layer(ids)), reverse=True))
    data = export.convert(model, RECIPES["blocks"])
    expected = answers(export.freeze(model, RECIPES["blocks"]).model, IDS)
    np.testing.assert_allclose(outputs(data), expected, atol=1e-5)  # 32 products
    found = tools.inspect(data)
    assert found.operators["EMBEDDING_LOOKUP"] == 2
    assert [t.dtype for t in found.tensors if t.num_bytes >= V * 16] == ["int4"]


def test_the_recipe_of_blocks_rounds_the_kernels_too():
    ids = keras.Input((6,), dtype="int32", name="ids")
    vectors = keras.layers.Embedding(V, 32, name="embedding")(ids)
    hidden = keras.layers.GlobalAveragePooling1D()(vectors)
    model = keras.Model(ids, keras.layers.Dense(20, name="out")(hidden))
    data = export.convert(model, "blocks")
    expected = answers(export.freeze(model, "blocks").model, IDS)
    np.testing.assert_allclose(outputs(data), expected, atol=1e-6)
    assert set(tools.inspect(data).operators) >= {"EMBEDDING_LOOKUP", "DEQUANTIZE"}
    again = export.verify(model, data, IDS)
    assert again.agreement == 1


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["blocks", "int4 rows", "int8 rows"])
def test_tables_of_the_same_integers_keep_their_own_scales(name):
    random = np.random.default_rng(0)
    table = random.normal(size=(V, 32)) * np.exp(random.normal(size=(V, 1)))
    ids = keras.Input((6,), dtype="int32", name="ids")
    one, double = (keras.layers.Embedding(V, 32) for _ in range(2))
    model = keras.Model(ids, {"one": one(ids), "double": double(ids)})
    one.embeddings.assign(table)
    double.embeddings.assign(2 * table)
    found = Interpreter(export.convert(model, RECIPES[name])).run({"ids": IDS})
    wanted = export.freeze(model, RECIPES[name]).model(IDS)
    for output in ("one", "double"):
        np.testing.assert_array_equal(found[output], wanted[output])
