"""How a model's arrays are stored in the file. A recipe is data."""

from typing import NamedTuple


class Recipe(NamedTuple):
    """What a file stores.

    Args:
        name: As given to `convert(model, recipe=name)`.
        tables: Type of the embeddings' tables and codebooks: "float32", "int8" or "int4". Codes are
            packed bits in every recipe. The few numbers that multiply every vector (`H` of a
            `FactoredForm`, an LSTM's kernels) are int8 with "int8" and "int4" alike, and all other
            layers are float32.
    """

    name: str
    tables: str


RECIPES = {name: Recipe(name, name) for name in ("float32", "int8", "int4")}


def resolve(recipe: str | Recipe) -> Recipe:
    """The recipe of that name, or the recipe itself.

    Raises: ValueError, naming the recipes there are.

    >>> resolve("int8").tables
    'int8'
    """
    from kerascompact.core import (
        checks,
    )  # the command line offers RECIPES, and starts without NumPy

    if isinstance(recipe, Recipe):
        return recipe
    return RECIPES[checks.choice("recipe", recipe, tuple(RECIPES))]
