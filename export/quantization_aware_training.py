"""Quantization-aware training of tables: fine-tuning with the integers that a recipe stores."""

from typing import Any

import keras

from kerascompact.core.keras_graph import copy_with
from kerascompact.export.embedding_forms import as_form, is_embedding, unreached
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.forms.base import Form
from kerascompact.forms.logits import LogitsForm
from kerascompact.forms.row_scaled_table import RowScaledForm
from kerascompact.forms.trainable_form import TrainableForm, has_integers


def quantization_aware(model: keras.Model, recipe: str | Recipe = "int4") -> keras.Model:
    """Copies a trained model so that it can be fine-tuned with the recipe's rounded tables.

    A table number is `q s` with `q = round(clip(w / s, -m, m))`, and `w` is trained. Every
    embedding becomes its form with hard assignments, in which the floats behind the integers of
    tables, codebooks and anchors are trained (`TrainableForm`); codes, sparse entries and what was
    frozen stay fixed, and all other layers are trained as before. A few epochs win back most of
    what rounding lost, at a learning rate that moves a number by half a step of its column (that of
    training or twice as much, falling to zero). `convert` then writes the numbers that training
    saw:

    `aware = quantization_aware(model, "int4")`, `aware.compile(...)`, `aware.fit(...)`,
    `convert(aware, "int4")`.

    Args:
        model: Trained functional or Sequential model; it does not change.
        recipe: Recipe that says how tables are stored: "int4", "int8" or a `Recipe`; plain tables
            by columns.

    Returns: A functional or Sequential model that is not compiled.

    Raises: ValueError, if the model is subclassed or not built, an embedding is inside a function
        that a layer holds, no table has integers, or the recipe stores plain tables by rows.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> [weight.name for weight in quantization_aware(model).trainable_weights]
    ['latent_codebook']

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 3.
    """
    recipe, found = resolve(recipe), []

    def replace(layer: Any) -> Any:
        if not is_embedding(layer):
            return None
        form = as_form(layer, recipe)
        if isinstance(form, RowScaledForm):
            raise ValueError(
                "`recipe` must store a plain table with a scale for each column, "
                "`stock_table='columns'`, to train its rounded numbers. "
                f"Received: recipe={recipe.name!r}, stock_table={recipe.stock_table!r}, and "
                f"{layer.name!r}."
            )
        if not has_integers(form):  # a form that stores only codes stays as it is
            return form
        if isinstance(form, LogitsForm):
            found.append(form.with_part(TrainableForm.over(form.part), trainable=True))
        else:
            found.append(TrainableForm.over(form))
        if not isinstance(layer, Form):  # these are fixed, unless they are trained here
            found[-1].trainable = layer.trainable
        return found[-1]

    aware = copy_with(model, replace)
    if (name := unreached(aware)) is not None:
        raise ValueError(
            "`model` must have its embeddings in layers that can be copied, to be trained with "
            f"rounded tables. Received: {name}, inside a function that a layer holds."
        )
    if not found:
        raise ValueError(
            "`model` must have an embedding whose tables the recipe stores as integers. "
            f"Received: model={model.name!r}, recipe={recipe.name!r}."
        )
    return aware
