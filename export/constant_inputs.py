"""Models without some of their inputs, which have the same numbers in every run."""

from collections.abc import Mapping
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph import graph_inputs, is_graph


def with_constants(model: keras.Model, numbers: Mapping[str, float]) -> keras.Model:
    """Copies a model so that some inputs are numbers, and the others are all that there are.

    `y = model({"token_ids": ids, "padding_mask": 1})` becomes `y = copy({"token_ids": ids})`, for
    an app whose texts always fill the length, or one that has no segments.

    Args:
        model: Functional or Sequential model, built; it does not change, and shares its weights
            with the copy.
        numbers: A number for each input that goes, by its name. All numbers of the input are this
            one; its shape is that of an input that stays.

    Returns: A functional model. Its inputs are a dictionary by name.

    Raises: ValueError, if the model is subclassed, has no such input, no input stays, or none that
        stays has the shape of one that goes.

    Example:
    >>> ids = {name: keras.Input((4,), dtype="int32", name=name) for name in ("ids", "mask")}
    >>> vectors = keras.layers.Embedding(9, 2)(ids["ids"])
    >>> model = keras.Model(ids, vectors * keras.ops.cast(ids["mask"], "float32")[..., None])
    >>> list(with_constants(model, {"mask": 1}).input)
    ['ids']
    """
    if not is_graph(model):
        checks.fail("model", "a functional or Sequential model that has been built", model)
    given = {tensor.name: tensor for tensor in keras.tree.flatten(graph_inputs(model))}
    for name, number in numbers.items():
        if name not in given:
            checks.fail("numbers", f"numbers by names of inputs, {[*given]}", name)
        checks.number(f"numbers[{name!r}]", number)
    stay: dict[str, Any] = {
        name: keras.Input(batch_shape=one.shape, dtype=one.dtype, name=name)
        for name, one in given.items()
        if name not in numbers
    }
    if not stay:
        checks.fail(
            "numbers", f"numbers for some of the inputs {[*given]}, not for all", [*numbers]
        )
    inputs = dict(stay)
    for name, number in numbers.items():
        like = next((x for x in stay.values() if x.shape == given[name].shape), None)
        if like is None:
            expected = f"names of inputs with the shape of one of {[*stay]}"
            checks.fail("numbers", expected, f"{name!r} of shape {given[name].shape}")
        inputs[name] = keras.ops.full_like(like, number, dtype=given[name].dtype)
    flat = [inputs[name] for name in given]
    outputs = model(keras.tree.pack_sequence_as(graph_inputs(model), flat))
    return keras.Model(stay, outputs, name=model.name)
