"""Graphs of Keras layers, run again on other inputs."""

from collections.abc import Callable
from typing import Any

import keras


def run_graph(
    model: Any,
    inputs: list[Any],
    call: Callable[..., Any] | None = None,
    copy: Callable[[Any], Any] = lambda operation: operation,
) -> Any:
    """The outputs of a graph of layers on other inputs, with some layers replaced.

    Args:
        model: Functional or Sequential model, built; it is not changed.
        inputs: A tensor for each of `model.inputs`.
        call: Calls a layer on its arguments, `call(layer, *args, **kwargs)`; default: as usual.
        copy: What stands in the place of a layer or operation.

    Returns: Tensors in the structure of the model's outputs.

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    >>> run_graph(model, [keras.Input((5,))], copy=lambda layer: keras.layers.Dense(7)).shape
    (None, 7)
    """
    functional = model._functional if isinstance(model, keras.Sequential) else model
    given = keras.tree.pack_sequence_as(functional._inputs_struct, inputs)
    options = {} if call is None else {"call_fn": call}
    return functional._run_through_graph(given, operation_fn=copy, **options)


def output_names(model: Any) -> list[str]:
    """The names of the outputs of a graph of layers, in the order of its flat outputs.

    >>> output_names(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="last")]))
    ['last']
    """
    functional = model._functional if isinstance(model, keras.Sequential) else model
    return list(functional.output_names)
