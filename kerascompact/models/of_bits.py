"""A model that was trained on ids, without its vocabulary."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.keras_graph import is_graph, run_graph
from kerascompact.layers import BitCache


def of_bits(model: keras.Model) -> keras.Model:
    """The same model with the bits of words as its input, in place of ids and their `BitCache`.

    The cache makes training fast; what ships has no vocabulary. Both models have the same layers:
    what one learns the other knows.

    Args:
        model: Functional model whose one input is ids that go to a `BitCache`.

    Returns: Model, `bits` uint8 `(batch, length, T d)` -> the model's outputs.

    Raises: ValueError, if it is none of those.

    >>> from kerascompact.layers import ProjectionEmbedding
    >>> from kerascompact.models import projection_lstm
    >>> cache = BitCache.from_words(["", "king"])
    >>> of_bits(projection_lstm(ProjectionEmbedding(8), 2, inputs=cache)).input_shape
    (None, None, 1120)
    """
    caches = [layer for layer in getattr(model, "layers", []) if isinstance(layer, BitCache)]
    if not is_graph(model) or isinstance(model, keras.Sequential) or len(caches) != 1:
        checks.fail("model", "a functional model with one BitCache behind its input", model)
    (cache,) = caches
    if len(model.inputs) != 1 or len(model.inputs[0].shape) != 2:
        checks.fail("model", "a model with one input, of ids (batch, length)", model)
    shape = (model.inputs[0].shape[1], cache.projection.num_bits)
    bits = keras.Input(shape, dtype="uint8", name="bits")

    def other(operation: Any) -> Any:
        return (lambda found: found) if operation is cache else operation

    outputs = run_graph(model, [bits], copy=other)
    return keras.Model(bits, outputs, name=model.name)
