"""How a model's arrays are stored in the file. A recipe is data."""

from typing import NamedTuple

from kerascompact.core import checks


class Recipe(NamedTuple):
    """What a file stores.

    Args:
        name: As given to `convert(model, recipe=name)`.
        tables: Type of the embeddings' tables and codebooks: "float32" or "int8". Codes are packed
            bits in every recipe, and all other layers are float32.
    """

    name: str
    tables: str


RECIPES = {recipe.name: recipe for recipe in (Recipe("float32", "float32"), Recipe("int8", "int8"))}


def resolve(recipe: str | Recipe) -> Recipe:
    """The recipe of that name, or the recipe itself.

    Raises: ValueError, naming the recipes there are.

    >>> resolve("int8").tables
    'int8'
    """
    if isinstance(recipe, Recipe):
        return recipe
    return RECIPES[checks.choice("recipe", recipe, tuple(RECIPES))]
