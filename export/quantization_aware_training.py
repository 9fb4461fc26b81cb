"""Quantization-aware training: fine-tuning with the rounded tables that a recipe stores."""

from typing import Any

import keras

from kerascompact.core.keras_graph import copy_with
from kerascompact.export.embedding_forms import as_form, check_reachable, is_embedding
from kerascompact.export.recipe import Recipe, resolve
from kerascompact.export.trainable_form import TrainableForm, has_integers


def quantization_aware(model: keras.Model, recipe: str | Recipe = "int4") -> keras.Model:
    """Returns a copy of a trained model that trains on with the tables that the recipe stores.

    Every embedding becomes its form, with hard assignments and rounded tables, in which the floats
    behind the integers of tables, codebooks and anchors are trained (`TrainableForm`); codes and
    sparse entries stay what they are. All other layers are trained as before. Some epochs win back
    most of what rounding took, at a rate that moves a number by half a step of its column (those of
    training or twice that, falling to zero); then `convert` writes what training saw:

    `aware = quantization_aware(model, "int4")`, `aware.compile(...)`, `aware.fit(...)`,
    `convert(aware, "int4")`.

    Args:
        model: Functional or Sequential model, trained; it is not changed.
        recipe: "int4", "int8" or a `Recipe`; of it, how tables are stored.

    Raises: ValueError, if the model is subclassed or not built, an embedding is in a layer other
        than `TimeDistributed`, or no table has integers.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> [weight.name for weight in quantization_aware(model).trainable_weights]
    ['latent_codebook']

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 3.
    """
    recipe, found = resolve(recipe), []
    check_reachable(model, "trained with rounded tables")

    def replace(layer: Any) -> Any:
        if not is_embedding(layer):
            return None
        form = as_form(layer, recipe)
        if not has_integers(form):  # nothing but codes: it stays as it is
            return form
        found.append(TrainableForm.over(form))
        return found[-1]

    aware = copy_with(model, replace)
    if not found:
        raise ValueError(
            "`model` must have an embedding whose tables the recipe stores as integers. "
            f"Received: model={model.name!r}, recipe={recipe.name!r}."
        )
    return aware
