"""Tagger of the predefined-sparseness paper: a small bidirectional LSTM, a tag for every word."""

import keras

from kerascompact.core import checks


def tagger(
    embedding: keras.layers.Layer,
    num_tags: int,
    units: int = 10,
    hidden: int = 10,
    *,
    recurrent: keras.layers.Layer | None = None,
    sequence_length: int | None = None,
) -> keras.Model:
    """Gives every word of a sentence a tag.

    `p_t = softmax(U tanh(W [f_t; b_t] + c) + e)`, `f_t` and `b_t` the outputs of an LSTM that has
    read the sentence up to word `t`, and of one that has read it from its end back to `t`. Padding
    is skipped if the embedding masks it: padding after a sentence changes no tag.

    Args:
        embedding: Any embedding layer, compact or `keras.layers.Embedding`.
        num_tags: Number of tags, at least 2.
        units: Width of the state in each direction; the paper uses 10.
        hidden: Width of the tanh layer; the paper uses 10.
        recurrent: A recurrent layer that returns sequences in place of the LSTM, such as one with
            DropConnect; the other direction is a copy of it.
        sequence_length: Fixed number of ids, or `None` for any.

    Returns: Model, `ids` int32 `(batch, length)` -> `probabilities` float32
    `(batch, length, num_tags)`.

    Raises: ValueError, if a size is out of range, or `recurrent` returns its last output only.

    >>> tagger(keras.layers.Embedding(20, 4, mask_zero=True), 3).output_shape
    (None, None, 3)

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 4.2.
    """
    checks.integer_in("num_tags", num_tags, 2)
    checks.integer_in("units", units, 1)
    checks.integer_in("hidden", hidden, 1)
    if recurrent is None:
        recurrent = keras.layers.LSTM(units, return_sequences=True, name="lstm")
    if not getattr(recurrent, "return_sequences", False):
        checks.fail("recurrent", "a recurrent layer with return_sequences=True", recurrent)
    ids = keras.Input((sequence_length,), dtype="int32", name="ids")
    states = keras.layers.Bidirectional(recurrent, name="both_ways")(embedding(ids))
    states = keras.layers.Dense(hidden, activation="tanh", name="hidden")(states)
    # float32 even under mixed precision: a float16 softmax ties tags that differ
    softmax = keras.layers.Dense(
        num_tags, activation="softmax", dtype="float32", name="probabilities"
    )
    return keras.Model(ids, softmax(states), name="tagger")
