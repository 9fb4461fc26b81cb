"""Copies of Keras models with some layers replaced."""

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

import keras

from kerascompact.core.keras_graph.kinds import is_graph, is_stock_embedding
from kerascompact.core.keras_graph.layers import direct_layers, inner_layers
from kerascompact.core.keras_graph.twins import CannotCopyError, Twins


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

    Raises: ValueError, if the model is subclassed or not built, or a layer of it reads what the
        replacement of another layer lacks, such as the table of a tied embedding.

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
    try:
        copied = twins.of(model)
    except AttributeError as error:  # Keras makes a long one of the layer's, in bold
        lacks = re.search(r"'\w+' object has no attribute '\w+'", str(error))
        raise CannotCopyError(
            "`model` must have no layer that reads what the replacement of another layer lacks, "
            f"such as a tied table. Received: {model.name!r}, in which "
            f"{lacks[0] if lacks else error}"
        ) from error
    if model.compiled:
        compile_like(model, copied)
    return copied


def compile_like(model: Any, copy: Any, optimizer: Any = "sgd", metrics: bool = True) -> None:
    """Compiles a copy with the loss of a compiled model, and another optimizer.

    Args:
        model: The model; its loss itself is used, which may be a function of one's own.
        copy: The copy, or the model.
        optimizer: Optimizer of the copy.
        metrics: Whether it has copies of the model's metrics, if Keras can make them.

    >>> model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    >>> model.compile("adam", keras.losses.MeanAbsoluteError())
    >>> copy = keras.models.clone_model(model)
    >>> compile_like(model, copy)
    >>> copy.loss is model.loss
    True
    """
    config = model.get_compile_config()
    rebuilt = keras.saving.deserialize_keras_object
    given = rebuilt({name: config[name] for name in ("loss_weights", "run_eagerly")})
    if metrics:
        with contextlib.suppress(TypeError, ValueError):  # some metrics of one's own
            given |= rebuilt({name: config[name] for name in ("metrics", "weighted_metrics")})
    # not the `compile` of a class of its own, which may have other arguments
    keras.Model.compile(copy, optimizer, model.loss, **given)


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
