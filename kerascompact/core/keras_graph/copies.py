"""Copies of Keras models with some layers replaced."""

from collections.abc import Callable, Iterator
from typing import Any

import keras

from kerascompact.core.keras_graph.kinds import is_graph


def copy_with(
    model: keras.Model,
    replace: Callable[[keras.layers.Layer], keras.layers.Layer | None],
    config_of: Callable[[keras.layers.Layer], dict[str, Any]] | None = None,
) -> keras.Model:
    """Copies a model with other layers in the places of some; the rest keeps its weights.

    Args:
        model: Functional or Sequential model, built, with models of these kinds inside or none; it
            is not changed, and shares no weight with its copy. Layers inside `TimeDistributed` are
            reached as well, those inside other layers are not.
        replace: What stands in the place of a layer, or `None` for a copy of it; called once for
            each layer.
        config_of: The configuration of a copied layer, if it is not the layer's own.

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
    copies: dict[int, tuple[keras.layers.Layer, keras.layers.Layer]] = {}
    replaced: dict[int, keras.layers.Layer] = {}

    def copy(layer: Any) -> Any:
        if not isinstance(layer, keras.layers.Layer):
            return layer  # an operation between layers, such as a mask's comparison
        if id(layer) in replaced:
            return replaced[id(layer)]  # used in two models, and still one layer
        new = replace(layer)
        if new is None and type(layer) is keras.layers.TimeDistributed:
            new = around(layer)
        if new is None:
            new = layer.__class__.from_config(configuration(layer))
            copies[id(layer)] = (layer, new)
        replaced[id(layer)] = new
        return new

    def around(layer: Any) -> keras.layers.Layer:
        inner = layer.layer
        inner = clone(inner) if is_graph(inner) else copy(inner)
        config = {**configuration(layer), "layer": inner}
        return keras.layers.TimeDistributed(**config)

    def configuration(layer: keras.layers.Layer) -> dict[str, Any]:
        return layer.get_config() if config_of is None else config_of(layer)

    def clone(graph: keras.Model) -> keras.Model:
        return keras.models.clone_model(graph, clone_function=copy, recursive=True)

    copied = clone(model)
    for layer, new in copies.values():
        new.set_weights(layer.get_weights())
    if model.compiled:
        copied.compile(**{**model.get_compile_config(), "optimizer": "sgd"})
    return copied


def reached_layers(model: Any) -> Iterator[Any]:
    """The layers that `copy_with` can replace in a graph of layers.

    Those of the graph, of models of these kinds inside, and inside `TimeDistributed`; these models
    and wrappers themselves aside.

    >>> inner = keras.layers.TimeDistributed(keras.layers.Dense(2, name="each"))
    >>> model = keras.Sequential([keras.Input((5, 3)), inner])
    >>> [layer.name for layer in reached_layers(model)]
    ['each']
    """
    for layer in model.layers:
        inner = layer.layer if type(layer) is keras.layers.TimeDistributed else layer
        if is_graph(inner):
            yield from reached_layers(inner)
        else:
            yield inner
