"""Embeddings of a model and their forms."""

from collections.abc import Iterator
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.embedding import BaseEmbedding
from kerascompact.core.keras_graph import (
    direct_layers,
    is_graph,
    is_stock_embedding,
    reached_layers,
)
from kerascompact.export.recipe import Recipe
from kerascompact.export.trainable_form import TrainableForm
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.row_scaled_table import RowScaledForm


def is_embedding(layer: Any) -> bool:
    """Whether a layer ships as a form: a compact embedding, a form, or Keras' own `Embedding`."""
    return is_stock_embedding(layer) or isinstance(layer, BaseEmbedding)


def as_form(layer: keras.layers.Layer, recipe: Recipe) -> Form:
    """The form of one embedding under a recipe; always a layer of its own, never `layer` itself."""
    form: Form
    if isinstance(layer, TrainableForm):
        form = layer.settled()
    elif isinstance(layer, Form):
        form = type(layer).from_config(float32_config(layer))
        form.build()
        form.set_weights(layer.get_weights())
    elif isinstance(layer, BaseEmbedding):
        form = layer.to_form()
        form.dtype_policy = "float32"
    else:
        form = DenseForm.from_arrays(
            {"table": checks.finite("embeddings", keras.ops.convert_to_numpy(layer.embeddings))},
            input_dim=layer.input_dim,
            output_dim=layer.output_dim,
            mask_zero=layer.mask_zero,
            paper_bits=32 * layer.input_dim * layer.output_dim,
            name=layer.name,
            dtype="float32",
        )
    plain = type(form) is DenseForm and form.precision == "float32"
    if plain and recipe.stock_table != "columns":
        return _by_rows(form, recipe)
    return form if recipe.tables == "float32" else form.stored_as(recipe.tables)


def _by_rows(form: DenseForm, recipe: Recipe) -> RowScaledForm:
    """A table with scales for each row, or for each block of a row."""
    config = {key: getattr(form, key) for key in ("mask_zero", "paper_bits", "name")}
    block = 32 if recipe.stock_table == "blocks" else None
    return RowScaledForm.from_table(form.table_values("table"), recipe.tables, block, **config)


def outermost(layer: keras.layers.Layer) -> Iterator[Any]:
    """The embeddings of a model, wherever they sit, without those inside another."""
    for inner in direct_layers(layer):
        if is_embedding(inner):
            yield inner
        else:
            yield from outermost(inner)


def check_reachable(model: Any, purpose: str) -> None:
    """Raises `ValueError` if a graph has an embedding that no copy of the graph would reach.

    Args:
        model: Any model.
        purpose: What the embeddings are to be, for the message.
    """
    inside = hidden(model) if is_graph(model) else None
    if inside is not None:
        raise ValueError(
            "`model` must have its embeddings in its own graph, or in models of its graph, to be "
            f"{purpose}. Received: {inside}, which holds an embedding inside."
        )


def hidden(model: Any) -> str | None:
    """The name of a layer that holds an embedding where a copy of the graph would not reach it."""
    for layer in reached_layers(model):
        if not is_embedding(layer) and any(True for _ in outermost(layer)):
            return layer.name
    return None


def float32_config(layer: keras.layers.Layer) -> dict[str, Any]:
    """The layer's configuration, computing in float32: TFLite has no float16 arithmetic on CPU."""
    config = layer.get_config()
    return config if layer.compute_dtype == "float32" else {**config, "dtype": "float32"}
