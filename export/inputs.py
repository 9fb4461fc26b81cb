"""Names, shapes and types of a file's inputs."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    build_shapes,
    graph_inputs,
    is_graph,
    is_shape,
    readers_of_inputs,
    required_arguments,
)
from kerascompact.export.embedding_forms import is_embedding, outermost

# How masks are made of ids.
COMPARES = {"Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual"}


def input_specs(
    model: Any,
    sequence_length: int | None,
    inputs: dict[str, Any] | None = None,
    batch_size: int | None = 1,
) -> dict[str, tf.TensorSpec]:
    """Finds names, shapes and types of the file's inputs.

    Args:
        model: Frozen model.
        sequence_length: Size of dimensions that the model leaves open; `None` leaves them open.
        inputs: Inputs of a subclassed model, as `convert` takes them.
        batch_size: Examples per run; `None` for any number.

    Raises: ValueError, if the arguments do not fit the model.
    """
    if sequence_length is not None:
        checks.integer_in("sequence_length", sequence_length, 1)
    ids: set[str] = set()
    if is_graph(model):
        if inputs is not None:
            checks.fail(
                "inputs", "None for a functional or Sequential model: it has its own", inputs
            )
        inputs = {tensor.name: tensor for tensor in keras.tree.flatten(graph_inputs(model))}
        ids = _read_as_ids(model)
    elif inputs is None:
        shape = next(iter(build_shapes(model).values()))
        if len(required_arguments(model)) > 1 or not is_shape(shape):
            expected = "a keras.Input for each name, for a subclassed model of several inputs"
            checks.fail("inputs", expected, inputs)
        inputs = _inferred(model, shape)
    if not isinstance(inputs, dict) or not inputs or not all(isinstance(k, str) for k in inputs):
        checks.fail("inputs", "a dictionary of names and keras.Input or arrays", inputs)
    specs = {}
    for name, tensor in inputs.items():
        if not isinstance(tensor, keras.KerasTensor):
            tensor = np.asarray(tensor)
            # int64 is only NumPy's default type of integers
            tensor = tensor.astype("int32") if tensor.dtype == "int64" else tensor
        shape = [batch_size, *(sequence_length if n is None else n for n in tensor.shape[1:])]
        dtype = tf.as_dtype(keras.backend.standardize_dtype(tensor.dtype))
        if name in ids and dtype.is_floating:
            dtype = tf.int32  # a Sequential model without a keras.Input, or one without a type
        specs[name] = tf.TensorSpec(shape, dtype, name=name)
    return specs


def _read_as_ids(model: Any) -> set[str]:
    """The inputs of a graph of layers that embeddings of ids and their masks read, nothing else.

    >>> embedding, x, y = keras.layers.Embedding(9, 2), keras.Input((3,), name="x"), keras.Input(())
    >>> _read_as_ids(keras.Model([x, y], [embedding(x), y + 1]))
    {'x'}
    """
    found = set()
    for name, readers in readers_of_inputs(model).items():
        others = [one for one in readers if type(one).__name__ not in COMPARES]
        if others and all(is_embedding(one) and one.input_dim for one in others):
            found.add(name)
    return found


def input_structure(model: Any) -> Any:
    """Names of the inputs, nested as the model takes them; `None` for a subclassed model."""
    if not is_graph(model):
        return None
    return keras.tree.map_structure(lambda tensor: tensor.name, graph_inputs(model))


def _inferred(model: Any, shape: Sequence[int | None]) -> dict[str, Any]:
    """Finds the input of a subclassed model with one input.

    Args:
        model: Frozen model.
        shape: Shape that the model was called on or built for.

    Raises: ValueError, if it has an embedding and its input is not `(batch, length)`.
    """
    if not any(True for _ in outermost(model)):
        name = next(iter(required_arguments(model)), "inputs")
        return {name: keras.Input(shape[1:], dtype=model.input_dtype)}
    if len(shape) != 2:
        expected = "a keras.Input for its name, for a subclassed model of ids that are not (batch, "
        checks.fail("inputs", f"{expected}length)", None)
    return {"ids": keras.Input((None,), dtype="int32")}
