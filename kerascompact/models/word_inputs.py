"""Inputs of models whose embedding is a projection."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.layers import BitCache, ProjectionEmbedding


def word_inputs(
    embedding: ProjectionEmbedding,
    inputs: str | BitCache = "bits",
    sequence_length: int | None = None,
) -> tuple[Any, Any]:
    """The input of a model and the vectors of its words, or of its text.

    Args:
        embedding: A `ProjectionEmbedding`; one of whole texts (`together`) gives one vector each.
        inputs: "bits" (from `text.bit_pipeline.bits_step`), "words" (strings), or a `BitCache`
            for ids.
        sequence_length: Fixed number of words, or `None` for any.

    Returns: The symbolic input and the symbolic vectors.

    Raises: ValueError, if the embedding is another, or the cache holds the bits of another.

    >>> given, vectors = word_inputs(ProjectionEmbedding(8))
    >>> given.shape, vectors.shape
    ((None, None, 1120), (None, None, 8))
    """
    if not isinstance(embedding, ProjectionEmbedding):
        checks.fail("embedding", "a kerascompact.layers.ProjectionEmbedding", embedding)
    if isinstance(inputs, BitCache):
        if embedding.together:
            checks.fail("inputs", "'bits' or 'words' for the bits of entire texts", inputs)
        if inputs.projection != embedding.projection:
            raise ValueError(
                "`inputs` must be a BitCache of the embedding's own projection, "
                f"{embedding.projection}. Received: one of {inputs.projection}."
            )
        ids = keras.Input((sequence_length,), dtype="int32", name="ids")
        return ids, embedding(inputs(ids))
    checks.choice("inputs", inputs, ("bits", "words"))
    if inputs == "words":
        words = keras.Input((sequence_length,), dtype="string", name="words")
        return words, embedding(words)
    width = embedding.projection.num_bits
    shape = (width,) if embedding.together else (sequence_length, width)
    bits = keras.Input(shape, dtype="uint8", name="bits")
    return bits, embedding(bits)
