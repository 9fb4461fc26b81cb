"""Recipes by name, and refused ones."""

import json
from pathlib import Path

import keras
import numpy as np
import pytest

from kerascompact import export, tools
from kerascompact.export.recipe import RECIPES, TABLE_RECIPES, Recipe, resolve


def test_the_recipes():
    assert {name: recipe[1:4] for name, recipe in RECIPES.items()} == {
        "float32": ("float32", "float32", "columns"),
        "int8_tables": ("int8", "float32", "columns"),
        "int4_tables": ("int4", "float32", "columns"),
        "codes4": ("codes4", "int8", "columns"),
        "codes3": ("codes3", "int8", "columns"),
        "codes2": ("codes2", "int8", "columns"),
        "int8": ("int8", "int8", "columns"),
        "int4": ("int4", "int8", "columns"),
        "dynamic": ("int8", "dynamic", "columns"),
        "dynamic_int4": ("int4", "dynamic", "rows"),
        "full_int8": ("int8", "full_int8", "columns"),
        "blocks": ("int4", "int8", "blocks"),
    }
    assert all(resolve(name) is recipe for name, recipe in RECIPES.items())
    assert resolve(Recipe("mine", "int8")).name == "mine"
    assert TABLE_RECIPES == ("float32", "int8_tables", "int4_tables")


def test_what_a_file_says_of_a_recipe_is_the_recipe():
    assert RECIPES["int8_tables"].facts() == {
        "name": "int8_tables",
        "tables": "int8",
    }  # as in older files
    assert all(Recipe(**recipe.facts()) == recipe for recipe in RECIPES.values())


def test_layers_whose_kernels_stay_float32_survive_the_metadata():
    recipe = resolve(Recipe("mine", "int8", "int8", float_layers=("head",)))
    stored = json.loads(json.dumps(recipe.facts()))
    assert stored["float_layers"] == ["head"] and resolve(Recipe(**stored)) == recipe


def test_only_integers_between_layers_differ_from_keras():
    assert [name for name, recipe in RECIPES.items() if not recipe.exact] == [
        "dynamic",
        "dynamic_int4",
        "full_int8",
    ]


@pytest.mark.parametrize("recipe", ["int2", "", None, 8, ["int8_tables"]])
def test_refuses_others(recipe):
    with pytest.raises(ValueError, match="`recipe` must be one of 'float32', 'int8', 'int4'"):
        resolve(recipe)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"tables": "int2"}, "`tables` must be one of 'float32', 'int8', 'int4'"),
        ({"tables": "float16"}, "`tables` must be another type: a runtime unpacks the entire"),
        (
            {"tables": "int8", "kernels": "float16"},
            "`kernels` must be another type: a runtime",
        ),
        (
            {"tables": "int8", "kernels": "int4"},
            "`kernels` must be one of 'float32', 'int8',",
        ),
        (
            {"tables": "int8", "kernels": "int8", "float_layers": "head"},
            "`float_layers` must be n",
        ),
        ({"tables": "int8", "kernels": "int8", "float_layers": 3}, "`float_layers` must be names"),
        ({"tables": "int8", "float_layers": ["head"]}, "`float_layers` must be empty, unless"),
        (
            {"tables": "int8", "stock_table": "flat"},
            "`stock_table` must be one of 'columns', 'rows'",
        ),
        ({"tables": "int8", "stock_table": "blocks"}, "`tables` must be 'int4', the only type"),
        (
            {"tables": "float32", "stock_table": "rows"},
            "`tables` must be 'int8' or 'int4', to",
        ),
        ({"tables": "codes4", "stock_table": "rows"}, "`tables` must be 'int8' or 'int4', to"),
        ({"tables": "codes4", "stock_table": "blocks"}, "`tables` must be 'int4', the only type"),
        ({"tables": "codes4", "kernels": "int16x8"}, "`tables` must be 'float32' with kernels"),
        (
            {"tables": "int8", "kernels": "int16x8"},
            "`tables` must be 'float32' with kernels",
        ),
    ],
)
def test_refuses_what_no_file_should_have(fields, message):
    with pytest.raises(ValueError, match=message):
        resolve(Recipe("mine", **fields))


# The last column of the guide's table of recipes, and what files need.
COLUMN = [
    "any", "`2.8`", "`2.15`", "`2.8`; `codes3`: `2.13`", "`2.8`; `2.15`", "LiteRT",
    "`2.17`; `2.18`", "`2.8`",
]  # fmt: skip
RUNTIMES = {
    "float32": "1.6", "int8": "2.8", "int4": "2.15", "codes4": "2.8", "codes3": "2.13",
    "codes2": "2.8", "int8_tables": "2.8", "int4_tables": "2.15", "blocks": "2.18",
    "dynamic": "2.17", "dynamic_int4": "2.18", "full_int8": "2.8",
}  # fmt: skip


@pytest.mark.slow
def test_the_runtime_of_each_recipe_is_that_in_the_guide():
    guide = (Path(__file__).parents[2] / "docs" / "keras_models.md").read_text("utf-8")
    table = guide[guide.index("| recipe | tables |") :].split("\n\n")[0].splitlines()[2:]
    assert [line.split(" | ")[-1].removesuffix(" |") for line in table] == COLUMN
    assert {*RUNTIMES} == {*RECIPES}
    ids = keras.Input((6,), dtype="int32")
    mean = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(500, 16)(ids))
    hidden = keras.layers.Dense(64, activation="relu")(mean)
    model = keras.Model(ids, keras.layers.Dense(32)(hidden))
    texts = np.random.default_rng(0).integers(0, 500, (20, 6)).astype(np.int32)
    for name, runtime in RUNTIMES.items():
        given = texts if name == "full_int8" else None
        file = export.convert(model, name, representative=given)
        assert tools.inspect(file).runtime == f"{runtime}.0", name
