"""Recipes: how a file stores the arrays of a model, as data."""

from typing import Any, NamedTuple

CODES = {"codes4": 4, "codes3": 3, "codes2": 2}  # bits of a number
TABLES = ("float32", "int8", "int4", *CODES)
KERNELS = ("float32", "int8", "dynamic", "full_int8", "int16x8")
STOCK_TABLE = ("columns", "rows", "blocks")
REASONS = {
    ("tables", "float16"): "a runtime unpacks the entire table to float32; int8 is smaller",
    ("kernels", "float16"): "a runtime unpacks it to float32; int8 is half as large and as exact",
}


class Recipe(NamedTuple):
    """Names the number types in which a file stores tables and kernels.

    Args:
        name: Name of the recipe, such as in `convert(model, recipe=name)`.
        tables: Type of the embeddings' tables and codebooks: "float32", "int8" or "int4"; or
            "codes4", "codes3" or "codes2" for product codes of so many bits a number, found by
            k-means, which are closer than "int4": tables of float32 rows become codes, all
            else is as with "int4", and a table that is smaller than its codebook is int8. Codes are
            packed bits in every recipe. The few numbers that multiply every vector (`H` of a
            `FactoredForm`, the kernels of a `CodeLSTMForm`) are int8 for "int4" as well.
        kernels: Type of the kernels of all other layers, and how the runtime computes with them:

            - "float32": as trained;
            - "int8": integers with a scale for each output, which the runtime turns into float32
              once, at its first run. The frozen Keras model holds the same rounded kernels, so file
              and Keras agree;
            - "dynamic": the same integers, multiplied as integers with inputs that are rounded in
              each run (TFLite's dynamic range): fast, but an output may differ from Keras' by 0.01.
              With rows as `stock_table`, the words of a language model are scored so, too;
            - "full_int8": integers between the layers as well; needs `convert(representative=...)`
              and a model without loops;
            - "int16x8": the same with int16 between the layers; for models without packed codes,
              `mask_zero=True` or another comparison of ids.
        stock_table: How a `keras.layers.Embedding` is stored: "columns", read by `GATHER`, with a
            scale for each column; "rows", read by `EMBEDDING_LOOKUP`, with a scale for each row (12
            bytes each in the file); or "blocks", read by `EMBEDDING_LOOKUP`, with a float16 scale
            for each 32 numbers of four bits.
        float_layers: Names of layers whose kernels stay float32, for "int8" and "dynamic" kernels.

    Example:
    >>> recipe = Recipe("mine", tables="int4", kernels="float32")
    >>> recipe.exact, recipe.rounds
    (True, True)
    """

    name: str
    tables: str
    kernels: str = "float32"
    stock_table: str = "columns"
    float_layers: tuple[str, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether file and frozen Keras model agree up to float32 rounding."""
        return self.kernels in ("float32", "int8")

    @property
    def rounds(self) -> bool:
        """Whether the file's numbers differ from those that were trained."""
        return self.tables != "float32" or self.kernels != "float32"

    def facts(self) -> dict[str, Any]:
        """The recipe as entries of a file's metadata, from which `Recipe(**facts)` restores it."""
        defaults = self._field_defaults
        return {k: v for k, v in self._asdict().items() if defaults.get(k) != v}


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("float32", "float32"),
        Recipe("int8", "int8", "int8"),
        Recipe("int4", "int4", "int8"),
        Recipe("codes4", "codes4", "int8"),
        Recipe("codes3", "codes3", "int8"),
        Recipe("codes2", "codes2", "int8"),
        Recipe("int8_tables", "int8"),
        Recipe("int4_tables", "int4"),
        Recipe("dynamic", "int8", "dynamic"),
        Recipe("dynamic_int4", "int4", "dynamic", "rows"),
        Recipe("full_int8", "int8", "full_int8"),
        Recipe("blocks", "int4", "int8", "blocks"),
    )
}
TABLE_RECIPES = tuple(name for name, recipe in RECIPES.items() if recipe.kernels == "float32")
UNCALIBRATED = tuple(
    name for name, recipe in RECIPES.items() if recipe.kernels not in ("full_int8", "int16x8")
)  # the recipes that `train` and `compress` offer, which have no calibration data


def resolve(recipe: str | Recipe) -> Recipe:
    """Finds a recipe by its name and checks it.

    Args:
        recipe: Name of a recipe in `RECIPES`, or a `Recipe`.

    Raises: ValueError, if the name is unknown (with the known ones) or the types do not fit.

    >>> resolve("int8").tables
    'int8'
    """
    from kerascompact.core import checks  # here, since `--help` reads RECIPES without NumPy

    if not isinstance(recipe, Recipe):
        return RECIPES[checks.choice("recipe", recipe, tuple(RECIPES))]
    fields: tuple[tuple[str, Any, tuple[str, ...]], ...] = (
        ("tables", recipe.tables, TABLES),
        ("kernels", recipe.kernels, KERNELS),
        ("stock_table", recipe.stock_table, STOCK_TABLE),
    )
    for field, value, allowed in fields:
        if (field, value) in REASONS:
            checks.fail(field, f"another type: {REASONS[field, value]}", value)
        checks.choice(field, value, allowed)
    names = recipe.float_layers
    listed = isinstance(names, list | tuple)  # what a file says may be anything
    if not listed or not all(isinstance(name, str) for name in names):
        checks.fail("float_layers", "names of layers", names)
    if names and recipe.kernels not in ("int8", "dynamic"):
        expected = "empty, unless `kernels` is 'int8' or 'dynamic': others are stored alike"
        checks.fail("float_layers", expected, names)
    recipe = recipe._replace(float_layers=tuple(names))  # a list in the metadata of a file
    if recipe.stock_table == "blocks" and recipe.tables != "int4":
        checks.fail("tables", "'int4', the only type that is stored in blocks", recipe.tables)
    if recipe.stock_table == "rows" and recipe.tables not in ("int8", "int4"):
        checks.fail("tables", "'int8' or 'int4', to have a scale for each row", recipe.tables)
    if recipe.kernels == "int16x8" and recipe.tables != "float32":
        checks.fail(
            "tables",
            "'float32' with kernels of 'int16x8': the converter has no int16 for the casts of "
            "integer tables, or computes wrong sums",
            recipe.tables,
        )
    return recipe
