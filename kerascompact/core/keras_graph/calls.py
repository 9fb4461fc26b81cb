"""Calls of Keras models by the names of their inputs and outputs."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph.kinds import (
    build_shapes,
    graph_inputs,
    is_graph,
    required_arguments,
)
from kerascompact.core.keras_graph.wiring import distinct


def called(model: Any, given: dict[str, Any]) -> Any:
    """Calls a model on named inputs, in the structure that it takes them.

    >>> model = keras.Sequential([keras.Input((3,), name="x"), keras.layers.Dense(2)])
    >>> called(model, {"x": np.ones((4, 3))}).shape
    TensorShape([4, 2])
    """
    flat = list(given.values())
    if is_graph(model):
        return model(keras.tree.pack_sequence_as(graph_inputs(model), flat), training=False)
    names = required_arguments(model)
    if len(names) > 1:
        if set(names) != set(given):
            checks.fail("inputs", f"a dictionary with the keys {names}", [*given])
        return model(*(given[name] for name in names), training=False)
    shape = next(iter(build_shapes(model).values()))
    if isinstance(shape, dict):
        return model(given, training=False)
    return model(flat[0] if is_shape(shape) else flat, training=False)


def is_shape(shape: Any) -> bool:
    """Whether what a model was built for is the shape of one input, not of several.

    >>> is_shape((None, 3)), is_shape([(None, 3), (None, 2)]), is_shape({"x": (None, 3)})
    (True, False, False)
    """
    return not isinstance(shape, dict) and all(n is None or isinstance(n, int) for n in shape)


def named_outputs(model: Any, outputs: Any) -> dict[str, Any]:
    """The outputs of a call of a model by the names that they have in a file.

    The keys of a flat dictionary, else Keras' names of the outputs, or numbers if it has none.

    >>> x = keras.Input((3,))
    >>> model = keras.Model(x, keras.layers.Dense(2, name="last")(x))
    >>> [named_outputs(model, outputs) for outputs in (1, {"a": 1, "b": 2}, [1, 2])]
    [{'last': 1}, {'a': 1, 'b': 2}, {'output_0': 1, 'output_1': 2}]
    """
    if isinstance(outputs, dict) and not any(map(keras.tree.is_nested, outputs.values())):
        return outputs
    flat = keras.tree.flatten(outputs)
    known = getattr(model, "output_names", None) or []
    fits = len(known) == len(flat)
    names = distinct(known) if fits else [f"output_{i}" for i in range(len(flat))]
    return dict(zip(names, flat, strict=True))
