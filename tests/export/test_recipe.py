"""Recipes by name, and refused ones."""

import pytest

from kerascompact.export.recipe import RECIPES, Recipe, resolve


def test_the_three_recipes():
    assert {name: recipe.tables for name, recipe in RECIPES.items()} == {
        "float32": "float32",
        "int8": "int8",
        "int4": "int4",
    }
    assert all(resolve(name) is recipe for name, recipe in RECIPES.items())
    assert resolve(Recipe("mine", "int8")).name == "mine"


@pytest.mark.parametrize("recipe", ["int2", "", None, 8, ["int8"]])
def test_refuses_others(recipe):
    with pytest.raises(ValueError, match="`recipe` must be one of 'float32', 'int8', 'int4'"):
        resolve(recipe)
