"""The layers inside a layer or model, and what Keras keeps about a layer and its tensors."""

import contextlib
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf

SMALL_FLOATS = ("float16", "bfloat16")


def all_layers(layer: Any) -> list[Any]:
    """A layer or model and every layer inside it, at any depth; one that is shared may repeat.

    >>> model = keras.Sequential([keras.layers.Dense(2, name="one")], name="model")
    >>> [layer.name for layer in all_layers(model)]
    ['model', 'one']
    """
    return list(layer._flatten_layers())


def inner_layers(layer: Any) -> list[Any]:
    """Every layer inside a layer or model, at any depth; one that is shared may repeat.

    >>> model = keras.Sequential([keras.layers.Dense(2, name="one")])
    >>> [layer.name for layer in inner_layers(model)]
    ['one']
    """
    return list(layer._flatten_layers(include_self=False))


def direct_layers(layer: Any) -> list[Any]:
    """The layers that a layer or model holds itself, each once.

    >>> inner = keras.Sequential([keras.layers.Dense(2)], name="inner")
    >>> [layer.name for layer in direct_layers(keras.Sequential([inner]))]
    ['inner']
    """
    return list(layer._flatten_layers(recursive=False, include_self=False))


def own_variables(layer: Any) -> list[keras.Variable]:
    """The variables that a layer made itself, without those of the layers inside it.

    >>> dense = keras.layers.Dense(2)
    >>> dense.build((None, 3))
    >>> [variable.name for variable in own_variables(dense)]
    ['kernel', 'bias']
    """
    return layer._trainable_variables + layer._non_trainable_variables


def maker_of(tensor: keras.KerasTensor) -> Any:
    """The layer or operation that made a symbolic tensor.

    >>> maker_of(keras.layers.Dense(2, name="last")(keras.Input((3,)))).name
    'last'
    """
    return tensor._keras_history.operation


def mask_of(tensor: Any) -> Any:
    """The mask that Keras handed on with a tensor; `None` if there is none.

    >>> mask_of(keras.ops.zeros((2, 3))) is None
    True
    """
    return getattr(tensor, "_keras_mask", None)


def seed_generators(model: Any) -> list[keras.random.SeedGenerator]:
    """The seed generators of a model's layers and of its losses, each once.

    >>> model = keras.Sequential([keras.Input((3,)), keras.layers.Dropout(0.5)])
    >>> len(seed_generators(model))
    1
    """
    losses = keras.tree.flatten(getattr(model, "loss", None))
    of_losses = [value for loss in losses for value in getattr(loss, "__dict__", {}).values()]
    found = [one for layer in all_layers(model) for one in layer._seed_generators]
    found += [one for one in of_losses if isinstance(one, keras.random.SeedGenerator)]
    return [*{id(one): one for one in found}.values()]


@contextlib.contextmanager
def computing_in_float32(model: Any) -> Iterator[None]:
    """Context in which the layers of a model of half or mixed precision compute in float32.

    Their weights of half precision are float32 in it. Quantized layers keep their policies, which
    say how their integers are read.

    >>> dense = keras.layers.Dense(2, dtype="mixed_float16")
    >>> with computing_in_float32(keras.Sequential([dense])):
    ...     dense.compute_dtype
    'float32'
    >>> dense.compute_dtype
    'float16'
    """
    mixed = [
        (layer, layer.dtype_policy)
        for layer in all_layers(model)
        if layer.compute_dtype in SMALL_FLOATS and layer.quantization_mode is None
    ]
    weights = {id(one): one for layer, _ in mixed for one in own_variables(layer)}
    halves = [(one, one._value, one.dtype) for one in weights.values() if one.dtype in SMALL_FLOATS]
    try:
        for layer, _ in mixed:
            layer.dtype_policy = "float32"
        for variable, value, _ in halves:
            variable._value = tf.Variable(tf.cast(value, tf.float32), trainable=variable.trainable)
            variable._dtype = "float32"
        yield
    finally:
        for variable, value, dtype in halves:
            variable._value, variable._dtype = value, dtype
        for layer, policy in mixed:
            layer.dtype_policy = policy
