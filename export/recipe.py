"""Recipes: how a model's arrays are stored in the file. A recipe is data."""

from typing import Any, NamedTuple

TABLES = ("float32", "int8", "int4")
KERNELS = ("float32", "int8", "dynamic", "full_int8", "int16x8")
STOCK_TABLE = ("columns", "rows", "blocks")
REASONS = {
    ("tables", "float16"): "a runtime unpacks such a table to float32, whole; int8 is smaller",
    ("kernels", "float16"): "a runtime unpacks it to float32; int8 is half as large and as exact",
}


class Recipe(NamedTuple):
    """What a file stores.

    Args:
        name: As given to `convert(model, recipe=name)`.
        tables: Type of the embeddings' tables and codebooks: "float32", "int8" or "int4". Codes are
            packed bits in every recipe. The few numbers that multiply every vector (`H` of a
            `FactoredForm`, an LSTM's kernels) are int8 with both.
        kernels: How the kernels of all other layers are stored, and what computes with them:

            - "float32": as trained;
            - "int8": integers with a scale for each output, which the runtime turns into float32
              once, at its first run. The frozen Keras model holds the same rounded kernels, so that
              file and Keras stay equal;
            - "dynamic": the same integers, multiplied as integers with inputs that are rounded in
              each run (TFLite's dynamic range): fast, but an output may differ from Keras' by a
              hundredth;
            - "full_int8": integers between the layers, too; needs `convert(representative=...)`,
              and has no loops;
            - "int16x8": the same with int16 between the layers; for models without packed codes.
        stock_table: How a `keras.layers.Embedding` is stored: "columns", read by `GATHER`, with a
            scale for each column; "rows", read by `EMBEDDING_LOOKUP`, with a scale for each row (12
            bytes each in the file); or "blocks", read by `EMBEDDING_LOOKUP`, with a float16 scale
            for each 32 numbers of four bits.
    """

    name: str
    tables: str
    kernels: str = "float32"
    stock_table: str = "columns"

    @property
    def exact(self) -> bool:
        """Whether the file computes what the frozen Keras model does, up to float32 rounding."""
        return self.kernels in ("float32", "int8")

    @property
    def rounds(self) -> bool:
        """Whether the file's numbers are other than those that were trained."""
        return self.tables != "float32" or self.kernels != "float32"

    def facts(self) -> dict[str, str]:
        """What the file's metadata say of it; `Recipe(**facts)` is the recipe."""
        defaults = self._field_defaults
        return {k: v for k, v in self._asdict().items() if defaults.get(k) != v}


RECIPES = {
    recipe.name: recipe
    for recipe in (
        Recipe("float32", "float32"),
        Recipe("int8", "int8", "int8"),
        Recipe("int4", "int4", "int8"),
        Recipe("int8_tables", "int8"),
        Recipe("int4_tables", "int4"),
        Recipe("dynamic", "int8", "dynamic"),
        Recipe("full_int8", "int8", "full_int8"),
        Recipe("blocks", "int4", "int8", "blocks"),
    )
}
TABLE_RECIPES = tuple(name for name, recipe in RECIPES.items() if recipe.kernels == "float32")
UNCALIBRATED = tuple(
    name for name, recipe in RECIPES.items() if recipe.kernels not in ("full_int8", "int16x8")
)  # those that `train` and `compress` offer: they have no calibration data


def resolve(recipe: str | Recipe) -> Recipe:
    """The recipe of that name, or the recipe itself.

    Raises: ValueError, naming the recipes there are, or for one that no file should have.

    >>> resolve("int8").tables
    'int8'
    """
    from kerascompact.core import checks  # not above: `--help` reads RECIPES without NumPy

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
    if recipe.stock_table == "blocks" and recipe.tables != "int4":
        checks.fail("tables", "'int4', the only type that is stored in blocks", recipe.tables)
    if recipe.stock_table == "rows" and recipe.tables == "float32":
        checks.fail("tables", "'int8' or 'int4', to have a scale for each row", recipe.tables)
    if recipe.kernels == "int16x8" and recipe.tables != "float32":
        checks.fail(
            "tables",
            "'float32' with kernels of 'int16x8': the converter has no int16 for the casts of "
            "integer tables, or computes wrong sums",
            recipe.tables,
        )
    return recipe
