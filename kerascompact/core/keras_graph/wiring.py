"""Graphs of Keras layers, run again on other inputs."""

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import keras

from kerascompact.core.keras_graph.kinds import is_graph
from kerascompact.core.keras_graph.layers import maker_of


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
    functional = _functional(model)
    given = keras.tree.pack_sequence_as(functional._inputs_struct, inputs)
    options = {} if call is None else {"call_fn": call}
    return functional._run_through_graph(given, operation_fn=copy, **options)


def output_names(model: Any) -> list[str]:
    """The names of the outputs of a graph of layers, in the order of its flat outputs.

    >>> output_names(keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="last")]))
    ['last']
    """
    return distinct(_functional(model).output_names)


def distinct(names: Iterable[str]) -> list[str]:
    """Names of which none is twice: the second "dense" is "dense_1".

    Keras names an output after its layer, and a layer may make several, such as a tied table both
    vectors and scores.

    >>> distinct(["dense", "dense", "dense_1"])
    ['dense', 'dense_2', 'dense_1']
    """
    given = list(names)
    found: list[str] = []
    for name in given:
        others = (f"{name}_{number}" for number in itertools.count(1))
        free = (one for one in others if one not in given and one not in found)
        found.append(next(free) if name in found else name)
    return found


def calls_in(model: Any, layer: Any) -> list[list[Any]]:
    """The inputs of each call of a layer in a graph of layers.

    >>> dense = keras.layers.Dense(3)
    >>> x = keras.Input((3,), name="x")
    >>> model, other = keras.Model(x, dense(x)), dense(x)
    >>> [[tensor.name for tensor in inputs] for inputs in calls_in(model, dense)]
    [['x']]
    """
    return [list(node.input_tensors) for node in _nodes(model) if node.operation is layer]


def operations_of(model: Any) -> list[Any]:
    """The layers and operations that a graph of layers calls, once for each call; any order.

    >>> x = keras.Input((3,), name="x")
    >>> sorted(type(one).__name__ for one in operations_of(keras.Model(x, keras.ops.softmax(x))))
    ['InputLayer', 'Softmax']
    """
    return [node.operation for node in _nodes(model)]


def inputs_of(model: Any, tensor: Any) -> list[Any]:
    """The tensors that the layer or operation which made a tensor of a graph took for it.

    >>> x = keras.Input((3,), name="x")
    >>> model = keras.Model(x, keras.ops.softmax(x))
    >>> [one.name for one in inputs_of(model, model.outputs[0])], inputs_of(model, x)
    (['x'], [])
    """
    for node in _nodes(model):
        if any(made is tensor for made in node.outputs):
            return list(node.input_tensors)
    return []


# Layers and operations, by the names of their classes, that change no probability but its place.
_SAME = {
    "Cast", "Concatenate", "Dropout", "ExpandDims", "Flatten", "Identity", "Reshape", "Squeeze"
}  # fmt: skip


def has_independent_outputs(model: Any) -> bool:
    """Whether a model has one output of several sigmoids: each class is there or not on its own.

    >>> sigmoid, softmax = (keras.layers.Dense(3, activation=a) for a in ("sigmoid", "softmax"))
    >>> x = keras.Input((2,))
    >>> [has_independent_outputs(keras.Model(x, last(x))) for last in (sigmoid, softmax)]
    [True, False]
    """
    return ends_in_sigmoids(model) and model.outputs[0].shape[-1] != 1


def ends_in_sigmoids(model: Any) -> bool:
    """Whether a graph of layers has one output, and that is sigmoids.

    They are the activation of a layer or an operation, perhaps with a cast, a reshape, or a
    concatenation of one for each class behind them. Of a model that is no graph it is not known.

    >>> ends_in_sigmoids(keras.Sequential([keras.Input((3,)), keras.layers.Dense(1, "sigmoid")]))
    True
    """
    if not is_graph(model) or len(model.outputs) != 1:
        return False
    return _are_sigmoids(model, model.outputs[0])


def _are_sigmoids(model: Any, tensor: Any) -> bool:
    last = maker_of(tensor)
    if is_graph(last):
        return len(last.outputs) == 1 and _are_sigmoids(last, last.outputs[0])
    kind, activation = type(last).__name__, getattr(last, "activation", None)
    if kind == "Sigmoid" or activation is keras.activations.sigmoid:
        return True
    passes = kind in _SAME or (kind == "Activation" and activation is keras.activations.linear)
    before = inputs_of(model, tensor) if passes else []
    return bool(before) and all(_are_sigmoids(model, one) for one in before)


def takers_of(model: Any, layer: Any) -> list[Any]:
    """What takes the outputs of a layer in a graph of layers; the graph itself, if they are its.

    >>> table, mean = keras.layers.Embedding(9, 2), keras.layers.GlobalAveragePooling1D()
    >>> model = keras.Sequential([keras.Input((3,)), table, mean])
    >>> takers_of(model, table) == [mean], takers_of(model, mean) == [model]
    (True, True)
    """
    found = [
        node.operation
        for node in _nodes(model)
        if any(maker_of(tensor) is layer for tensor in node.input_tensors)
    ]
    return found + [model for tensor in model.outputs if maker_of(tensor) is layer]


def readers_of_inputs(model: Any) -> dict[str, list[Any]]:
    """The layers that are called on an input of a graph of layers as it is, by the input's name.

    Models inside are opened. What a table scores, called in reverse, are no ids: it is left out.

    >>> embedding, ids = keras.layers.Embedding(9, 2), keras.Input((3,), dtype="int32", name="ids")
    >>> inner = keras.Sequential([keras.Input((3,), dtype="int32"), embedding])
    >>> readers_of_inputs(keras.Model(ids, inner(ids))) == {"ids": [embedding]}
    True
    """
    found: dict[str, list[Any]] = {tensor.name: [] for tensor in model.inputs}
    for node in _nodes(model):
        layer, tensors = node.operation, node.input_tensors
        if _is_reverse(node):
            continue
        inside = readers_of_inputs(layer).values() if is_graph(layer) else [[layer]] * len(tensors)
        for tensor, readers in zip(tensors, inside, strict=False):  # a mask may follow the inputs
            if isinstance(maker_of(tensor), keras.layers.InputLayer):
                found[tensor.name] += readers
    return found


def sources_of(model: Any, layer: Any) -> list[Any]:
    """The inputs of a graph of layers that the arguments of a layer depend on.

    A table that is a head, too, is called in reverse on what came of all inputs: that is left out.

    >>> dense, x, y = keras.layers.Dense(3), keras.Input((3,), name="x"), keras.Input((3,))
    >>> [tensor.name for tensor in sources_of(keras.Model([x, y], dense(x) + y), dense)]
    ['x']
    """
    made_of = {id(made): node.input_tensors for node in _nodes(model) for made in node.outputs}
    calls = (node for node in _nodes(model) if node.operation is layer and not _is_reverse(node))
    tensors = [tensor for node in calls for tensor in node.input_tensors]
    seen = set()
    while tensors:
        tensor = tensors.pop()
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors += made_of.get(id(tensor), [])
    return [tensor for tensor in model.inputs if id(tensor) in seen]


def _is_reverse(node: Any) -> bool:
    """Whether a call is that of a tied head: of a table, in reverse."""
    return bool(node.arguments.kwargs.get("reverse"))


def _nodes(model: Any) -> list[Any]:
    """The calls of layers in a graph."""
    return [node for depth in _functional(model)._nodes_by_depth.values() for node in depth]


def _functional(model: Any) -> Any:
    """The functional model that a Sequential model keeps of itself; of others, the model."""
    return model._functional if isinstance(model, keras.Sequential) else model
