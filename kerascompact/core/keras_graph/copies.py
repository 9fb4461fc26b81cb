"""Copies of Keras models with some layers replaced."""

from collections.abc import Callable, Iterator
from typing import Any

import keras

from kerascompact.core.keras_graph.kinds import is_graph, is_stock_embedding
from kerascompact.core.keras_graph.layers import direct_layers, inner_layers
from kerascompact.core.keras_graph.twins import Twins


def copy_with(
    model: keras.Model,
    replace: Callable[[keras.layers.Layer], keras.layers.Layer | None],
    float32: bool = False,
    adapt: Callable[[keras.layers.Layer, keras.layers.Layer], None] | None = None,
) -> keras.Model:
    """Copies a model with other layers in the places of some; the rest keeps its weights.

    Layers are copied by their weights and attributes, also those inside other layers: see `Twins`.
    A model of a class of its own, such as keras-hub's, keeps its class.

    Args:
        model: Functional or Sequential model, built, with models of these kinds inside or none; it
            is not changed, and shares no weight with its copy.
        replace: What stands in the place of a layer, or `None` for a copy of it; called once for
            each layer.
        float32: Whether the copy computes in float32, for mixed precision.
        adapt: Changes, given a layer and its copy, the copy before it is called, such as its sizes.

    Returns: The copy, compiled as the model was, but with plain SGD: the state of its optimizer
        belongs to weights that may be gone.

    Raises: ValueError, if the model is subclassed or not built.

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    >>> copy = copy_with(model, lambda layer: keras.layers.Activation("tanh"))
    >>> [type(layer).__name__ for layer in copy.layers]
    ['Activation']
    """
    if not is_graph(model):
        raise ValueError(
            "`model` must be a functional or Sequential model that has been built; a subclassed "
            "model cannot be rebuilt from its layers. "
            f"Received: model={getattr(model, 'name', model)!r} (of type {type(model).__name__})."
        )
    twins = Twins(lambda layer: None if layer is model else replace(layer), float32, adapt)
    copied = twins.of(model)
    if model.compiled:
        # not the `compile` of a class of its own, which may have other arguments
        keras.Model.compile(copied, **{**model.get_compile_config(), "optimizer": "sgd"})
    return copied


def reached_layers(model: Any) -> Iterator[Any]:
    """The layers of a graph of layers, with those of models inside; these models themselves aside.

    The layers inside `TimeDistributed`, and inside a layer that holds a Keras embedding, count in
    its place.

    >>> inner = keras.layers.TimeDistributed(keras.layers.Dense(2, name="each"))
    >>> model = keras.Sequential([keras.Input((5, 3)), inner])
    >>> [layer.name for layer in reached_layers(model)]
    ['each']
    """
    for layer in model.layers if is_graph(model) else direct_layers(model):
        opened = type(layer) is keras.layers.TimeDistributed or is_graph(layer)
        if opened or any(map(is_stock_embedding, inner_layers(layer))):
            yield from reached_layers(layer)
        else:
            yield layer
