"""Embeddings of a model and their forms."""

from collections.abc import Iterator
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.embedding import BaseEmbedding
from kerascompact.core.keras_graph import direct_layers, is_one_table, is_stock_embedding
from kerascompact.export.code_tables import in_codes
from kerascompact.export.recipe import CODES, Recipe
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.logits import LogitsForm
from kerascompact.forms.reversible import ReversibleForm, reversible
from kerascompact.forms.row_scaled_table import RowScaledForm
from kerascompact.forms.trainable_form import TrainableForm


def is_embedding(layer: Any) -> bool:
    """Whether a layer is a compact embedding, a form, or Keras' own `Embedding`."""
    return is_stock_embedding(layer) or isinstance(layer, BaseEmbedding)


def as_form(layer: keras.layers.Layer, recipe: Recipe) -> Form:
    """Builds the form of an embedding, with tables rounded by a recipe.

    Args:
        layer: Compact embedding, form or `keras.layers.Embedding`.
        recipe: Recipe for the tables.

    Returns: A new layer, never `layer` itself.
    """
    form: Form
    if isinstance(layer, TrainableForm):
        form = layer.settled()
    elif isinstance(layer, LogitsForm) and isinstance(layer.part, TrainableForm):
        form = layer.with_part(layer.part.settled())
    elif isinstance(layer, Form):
        form = type(layer).from_config(_float32_config(layer))
        form.build()
        form.set_weights(layer.get_weights())
    elif isinstance(layer, BaseEmbedding):
        form = layer.to_form()
        form.dtype_policy = "float32"
    elif is_one_table(layer):
        form = _dense(layer, layer.embeddings, mask_zero=layer.mask_zero)
    else:
        form = reversible(layer, lambda table: _dense(layer, table))
    return _stored(form, recipe)


def _dense(layer: Any, table: Any, **config: Any) -> DenseForm:
    return DenseForm.from_arrays(
        {"table": checks.finite("embeddings", keras.ops.convert_to_numpy(table))},
        input_dim=layer.input_dim,
        output_dim=layer.output_dim,
        paper_bits=32 * layer.input_dim * layer.output_dim,
        name=layer.name,
        dtype="float32",
        **config,
    )


def _stored(form: Form, recipe: Recipe) -> Form:
    """A form with tables of the recipe's integers."""
    if type(form) is ReversibleForm:
        head = None if form.head is None else _stored(form.head, recipe)
        return form.with_parts(_stored(form.part, recipe), head)
    plain = type(form) is DenseForm and form.precision == "float32"
    if plain and recipe.stock_table != "columns":
        return _by_rows(form, recipe)
    if recipe.tables in CODES:
        return in_codes(form, CODES[recipe.tables])
    return form if recipe.tables == "float32" else form.stored_as(recipe.tables)


def _by_rows(form: DenseForm, recipe: Recipe) -> RowScaledForm:
    """A table with a scale for each row, or for each block of a row."""
    config = {key: getattr(form, key) for key in ("mask_zero", "paper_bits", "name")}
    block = 32 if recipe.stock_table == "blocks" else None
    return RowScaledForm.from_table(form.table_values("table"), recipe.tables, block, **config)


def outermost(layer: keras.layers.Layer) -> Iterator[Any]:
    """All embeddings of a model, except for those inside another embedding."""
    for inner in direct_layers(layer):
        if is_embedding(inner):
            yield inner
        else:
            yield from outermost(inner)


def unreached(copy: Any) -> str | None:
    """Name of an embedding that is no form, in a copy whose embeddings were to become forms."""
    return next((one.name for one in outermost(copy) if not isinstance(one, Form)), None)


def _float32_config(layer: keras.layers.Layer) -> dict[str, Any]:
    """The layer's configuration with float32 computation: TFLite has no float16 on CPU."""
    config = layer.get_config()
    return config if layer.compute_dtype == "float32" else {**config, "dtype": "float32"}
