"""Bit inputs: a model of words as one of the bits that its projection reads."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph import calls_in, is_graph, run_graph
from kerascompact.forms.words import NonEmptyWords, ProjectionBase
from kerascompact.layers import BitCache


def with_bit_input(model: keras.Model) -> keras.Model:
    """Gives a model of strings, ids or bits the bits of its words as its input.

    What ships has no vocabulary: a `BitCache` makes training fast, strings are convenient, and a
    file reads bits. Both models have the same layers: what one learns the other knows.

    Args:
        model: Functional or Sequential model, built, trained or frozen, with one input. It goes to
            one `BitCache`, or to one projection: a `ProjectionEmbedding` or its form.

    Returns: Model, `bits` uint8 `(batch, length, T d)` -> the model's outputs; `(batch, T d)` if
        the projection reads the words of a text together.

    Raises: ValueError, if the model is of another kind.

    >>> from kerascompact.layers import ProjectionEmbedding
    >>> from kerascompact.models import projection_lstm
    >>> cache = BitCache.from_words(["", "king"])
    >>> with_bit_input(projection_lstm(ProjectionEmbedding(8), 2, inputs=cache)).input_shape
    (None, None, 1120)
    """
    layer, given = _reader(model)
    is_cache = isinstance(layer, BitCache)
    together = not is_cache and layer.together
    rank = 2 if is_cache or given.dtype == "string" else 3
    if not together and len(given.shape) > rank:
        checks.fail("model", "one whose words are (batch, length), to take bits", model)
    shape = () if together else given.shape[1:2]
    bits = keras.Input((*shape, layer.projection.num_bits), dtype="uint8", name="bits")

    def call(operation: Any, *args: Any, **kwargs: Any) -> Any:
        if operation is layer:
            return bits if is_cache else layer(bits)
        if isinstance(operation, NonEmptyWords) and not is_cache:
            return operation(bits)
        return operation(*args, **kwargs)

    return keras.Model(bits, run_graph(model, model.inputs, call), name=model.name)


def _reader(model: Any) -> tuple[Any, keras.KerasTensor]:
    """The one layer of a model that reads its words, a cache or a projection, and its input."""
    layers = model.layers if is_graph(model) and len(model.inputs) == 1 else []
    for kind in (BitCache, ProjectionBase):
        found = [layer for layer in layers if isinstance(layer, kind)]
        calls = calls_in(model, found[0]) if len(found) == 1 else []
        if len(calls) == 1:
            return found[0], calls[0][0]
    raise ValueError(
        "`model` must be a functional or Sequential model of one input, with one BitCache or one "
        "projection that is called once, to take bits. "
        f"Received: model={getattr(model, 'name', model)!r} (of type {type(model).__name__})."
    )
