"""Copies a trained model with the layers that a file stores."""

from typing import Any

import keras

from kerascompact.core.keras_graph import copy_with
from kerascompact.export.embedding_forms import as_form, is_embedding
from kerascompact.export.kernel_rounding import Rounded, round_kernels
from kerascompact.export.quantized_layers import form_of_quantized
from kerascompact.export.recipe import Recipe
from kerascompact.layers.recurrent.base import SparseRecurrent


def frozen_copy(model: keras.Model, recipe: Recipe) -> tuple[keras.Model, list[Rounded]]:
    """Copies a functional or Sequential model with its compact layers frozen.

    Args:
        model: Built model; its layers do not change.
        recipe: Recipe for tables and kernels.

    Returns: The copy, and its rounded kernels.
    """

    def replace(layer: keras.layers.Layer) -> keras.layers.Layer | None:
        if is_embedding(layer):
            return as_form(layer, recipe)
        return form_of_quantized(layer) or _one_loop(layer)

    frozen = copy_with(model, replace, float32=True)
    if recipe.kernels == "float32":
        return frozen, []
    return frozen, round_kernels(frozen, recipe.kernels != "dynamic", recipe.float_layers)


def _one_loop(layer: Any) -> keras.layers.Layer | None:
    """One loop for a sparse recurrent layer, or for two in a `Bidirectional`; else `None`."""
    if isinstance(layer, SparseRecurrent):
        return layer.to_form()
    if type(layer) is not keras.layers.Bidirectional:
        return None
    sides = (layer.forward_layer, layer.backward_layer)
    if not all(isinstance(side, SparseRecurrent) for side in sides):
        return None
    forward, backward = (side.to_form() for side in sides)
    both = keras.layers.Bidirectional(
        forward,
        merge_mode=layer.merge_mode,
        backward_layer=backward,
        name=layer.name,
        dtype="float32",
    )
    # Bidirectional builds a new forward layer from the configuration.
    batch_size = forward.states[0].shape[0] if forward.stateful else None
    both.build((batch_size, None, forward.input_dim))
    both.forward_layer.set_weights(forward.get_weights())
    return both
