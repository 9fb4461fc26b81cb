"""Rounding of a model's kernels to the int8 numbers that a file stores."""

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from kerascompact.core.keras_graph import direct_layers, is_graph, maker_of, own_variables
from kerascompact.export.embedding_forms import is_embedding
from kerascompact.tflite.passes import kernels


def round_kernels(model: Any, by_inputs: bool = True) -> list[tuple[Any, np.ndarray]]:
    """Rounds the kernels of a model, its embeddings aside, to what int8 in a file stands for.

    Args:
        model: Its variables are assigned to.
        by_inputs: Whether a dense kernel may have scales for each input: not, if it stays int8
            where it is multiplied.

    Returns: Each variable that was changed, and its numbers before.
    """
    changed: dict[int, tuple[Any, np.ndarray]] = {}
    for layer in _others(model):
        if getattr(layer, "rounds_itself", False):  # as it was trained to
            continue
        for variable in own_variables(layer):
            if variable.dtype != "float32":
                continue
            outputs, inputs = _outputs_of(layer, variable), by_inputs and _is_last(layer, model)
            axis = kernels.axis_of_scales(variable.shape, outputs, inputs)
            if axis is None:
                continue
            before = keras.ops.convert_to_numpy(variable)
            variable.assign(kernels.rounded(before, axis))
            changed.setdefault(id(variable), (variable, before))
    return list(changed.values())


def _others(layer: keras.layers.Layer) -> Iterator[Any]:
    """A layer and every layer inside that is no embedding and in none."""
    yield layer
    for inner in direct_layers(layer):
        if not is_embedding(inner):
            yield from _others(inner)


def _is_last(layer: Any, model: Any) -> bool:
    """Whether it is a dense layer of a graph's outputs.

    Only output layers: elsewhere the converter may fold a batch normalization into the kernel,
    which breaks scales for each input.
    """
    if type(layer) is not keras.layers.Dense or not is_graph(model):
        return False
    outputs = keras.tree.flatten(model.outputs)
    return any(maker_of(tensor) is layer for tensor in outputs)


def _outputs_of(layer: Any, variable: Any) -> int:
    """The axis of a kernel's outputs."""
    kind = type(layer).__name__
    transposed = "Transpose" in kind or kind.startswith("Depthwise")
    return -2 if transposed or variable.name.startswith("depthwise") else -1
