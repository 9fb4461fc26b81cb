"""Bytes of an embedding's arrays in a file, before anything is trained."""

import math
from collections.abc import Sequence

from kerascompact.core.keras_graph import direct_layers
from kerascompact.core.storage import Stored
from kerascompact.export.code_tables import form_of_table
from kerascompact.export.embedding_forms import as_form, is_embedding
from kerascompact.export.recipe import CODES, RECIPES
from kerascompact.search.building import build
from kerascompact.search.setting import Setting

ALIGNED = 4  # bytes that each buffer begins at a multiple of


def plain_bytes(setting: Setting) -> int:
    """Bytes of the arrays of a plain table in the file, each up to the next multiple of 4."""
    width = setting.width
    recipe = RECIPES[setting.recipe]
    if recipe.tables in CODES:
        return bytes_of(form_of_table(setting.words, width, CODES[recipe.tables]).storage())
    bits = {"float32": 32, "int8": 8, "int4": 4}[recipe.tables]
    scales = 0 if recipe.tables == "float32" else 4 * width
    return padded(setting.words * math.ceil(width * bits / 8)) + scales


def stored_arrays(setting: Setting) -> list[Stored]:
    """Arrays of a compact embedding in the file."""
    model = build(setting, setting.words, 2)
    ((embedding),) = [layer for layer in direct_layers(model) if is_embedding(layer)]
    return as_form(embedding, RECIPES[setting.recipe]).storage()


def odd_columns(stored: Sequence[Stored]) -> tuple[int, ...]:
    """Whether each int4 array has an odd number of columns: operators then cut off the last one.

    >>> odd_columns([Stored("table", (9, 5), 4), Stored("scale", (5,), 32)])
    (1, 0)
    """
    return tuple(int(a.bits == 4 and len(a.shape) > 1 and a.shape[-1] % 2) for a in stored)


def bytes_of(stored: Sequence[Stored]) -> int:
    """Bytes of arrays in the file, each up to the next multiple of 4."""
    return sum(padded(_array_bytes(array)) for array in stored)


def _array_bytes(array: Stored) -> int:
    """Bytes of an array: rows of four-bit numbers begin at whole bytes."""
    if array.bits == 4 and len(array.shape) > 1:
        *rows, columns = array.shape
        return math.prod(rows) * math.ceil(columns / 2)
    return math.ceil(array.total_bits / 8)


def padded(size: int) -> int:
    """Bytes up to the beginning of the next buffer."""
    return -(-size // ALIGNED) * ALIGNED
