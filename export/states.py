"""Recurrent models with their states as inputs and outputs, to run one step at a time."""

from collections import Counter
from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph import (
    all_layers,
    is_graph,
    named_outputs,
    output_names,
    run_graph,
    sources_of,
)


def with_states(model: keras.Model, sequence_length: int | None = 1) -> keras.Model:
    """Copies a model so that the states of its recurrent layers are inputs and outputs.

    `outputs, states = model(inputs, states)`: a file cannot keep a state from one run to the next.
    In the copy, every LSTM, GRU or other Keras RNN, sparse ones included, starts from a given state
    and returns its last one. An app feeds zeros first, and then what the run before returned; the
    outputs are those of the stateful model. With one step per run, the file of a sparse layer has
    no loop.

    Args:
        model: Built functional or Sequential model, stateful or not; it does not change.
        sequence_length: Steps per run; `None` for any number. Inputs have as many steps if their
            length is open or a recurrent layer depends on them; the others keep their shape.

    Returns: A model with further inputs `{layer}_state_0`, ... `(batch, units)`; if a layer is
        called again, the numbers go on. Its outputs are a dictionary of the model's outputs and of
        the states, under the names of their inputs.

    Raises: ValueError, if the model is subclassed, has no recurrent layer, has one that reads
        backward, as in `Bidirectional`, or one that is given its `initial_state`; or if another
        layer needs the length that the model was built for.

    Example:
    >>> from kerascompact.models import language_model
    >>> model = language_model(keras.layers.Embedding(9, 4), 9, 5, num_layers=1, batch_size=2)
    >>> sorted(with_states(model).output)
    ['logits', 'lstm_0_state_0', 'lstm_0_state_1']

    Differs: layers of `keras.layers.RNN` inside a nested model are not opened. A layer that is
    called twice has a state for each call, where Keras has one that goes from call to call.
    """
    if not is_graph(model):
        checks.fail("model", "a functional or Sequential model that has been built", model)
    if sequence_length is not None:
        checks.integer_in("sequence_length", sequence_length, 1)
    if not any(isinstance(layer, keras.layers.RNN) for layer in model.layers) or any(
        isinstance(layer, keras.layers.Bidirectional) or getattr(layer, "go_backwards", False)
        for layer in all_layers(model)
    ):
        raise ValueError(
            "`model` must have recurrent layers that all read forward. "
            f"Received: model={model.name!r} with {[type(one).__name__ for one in model.layers]}."
        )
    copies: dict[int, Any] = {}
    returning: set[int] = set()  # copies of layers with `return_state`
    counts: Counter[str] = Counter()  # states of each layer, in all its calls
    states: dict[str, Any] = {}
    ends: dict[str, Any] = {}

    def copy(layer: Any) -> Any:
        if not isinstance(layer, keras.layers.Layer):
            return layer  # an operation between layers
        if id(layer) not in copies:
            config = layer.get_config()
            if isinstance(layer, keras.layers.RNN):
                config |= {"stateful": False, "return_state": True, "unroll": False}
            copies[id(layer)] = layer, type(layer).from_config(config)
            if getattr(layer, "return_state", False):
                returning.add(id(copies[id(layer)][1]))
        return copies[id(layer)][1]

    def call(layer: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(layer, keras.layers.RNN):
            try:
                return layer(*args, **kwargs)
            except ValueError as error:
                raise _needs_length(layer, error) from error
        if kwargs.get("initial_state", args[1] if len(args) > 1 else None) is not None:
            raise ValueError(
                "`model` must have recurrent layers that start from zeros, without "
                f"`initial_state`. Received: model={model.name!r}, in which {layer.name!r} has one."
            )
        known = counts[layer.name]
        sizes = keras.tree.flatten(layer.state_size)  # of several cells: a list for each
        counts[layer.name] += len(sizes)
        names = [f"{layer.name}_state_{number}" for number in range(known, counts[layer.name])]
        given = [
            keras.Input((size,), dtype="float32", name=name)
            for name, size in zip(names, sizes, strict=True)
        ]
        states.update(zip(names, given, strict=True))
        initial = keras.tree.pack_sequence_as(layer.state_size, given)
        outputs, *last = layer(*args, **{**kwargs, "initial_state": initial})
        ends.update(zip(names, keras.tree.flatten(last), strict=True))
        return [outputs, *last] if id(layer) in returning else outputs

    recurrent = [layer for layer in model.layers if isinstance(layer, keras.layers.RNN)]
    steps = {tensor.name for layer in recurrent for tensor in sources_of(model, layer)}
    ids = [_opened(tensor, sequence_length, tensor.name in steps) for tensor in model.inputs]
    outputs = run_graph(model, ids, call, copy)
    named = named_outputs(model, outputs)
    if isinstance(model, keras.Sequential):
        named = dict(zip(output_names(model), named.values(), strict=True))
    made = keras.Model([*ids, *states.values()], {**named, **ends}, name=model.name)
    for layer, new in copies.values():
        try:
            new.set_weights(layer.get_weights())
        except ValueError as error:
            raise _needs_length(layer, error) from error
    return made


def _opened(tensor: Any, sequence_length: int | None, has_steps: bool) -> Any:
    """An input of any batch, and of that many steps if it has steps or its length is open."""
    shape = tensor.shape[1:]
    if shape and (has_steps or shape[0] is None):
        shape = (sequence_length, *shape[1:])
    return keras.Input(shape, dtype=tensor.dtype, name=tensor.name)


def _needs_length(layer: Any, error: ValueError) -> ValueError:
    return ValueError(
        "`model` must have layers that run on `sequence_length` steps. "
        f"Received: {layer.name!r}, which raises: {str(error).splitlines()[0]}"
    )
