"""Zaremba's language model: LSTMs over the words so far, a softmax over the next word."""

from typing import Any, NamedTuple

import keras

from kerascompact.core import checks


class ZarembaSize(NamedTuple):
    """One of the three published sizes, and the settings of its training.

    `units` is the width of embedding and LSTMs, `steps` the number of tokens of one
    backpropagation, `scale` the bound of the uniform initial weights, `clip` that of the gradient's
    norm. The learning rate is 1 for `hold` epochs, then multiplied by `decay` in each.
    """

    units: int
    dropout: float
    steps: int
    scale: float
    clip: float
    epochs: int
    hold: int
    decay: float
    batch_size: int = 20
    layers: int = 2


SIZES = {
    "small": ZarembaSize(200, 0.0, 20, 0.1, 3.0, 15, 4, 0.5),
    "medium": ZarembaSize(650, 0.5, 35, 0.05, 5.0, 35, 12, 0.6),
    "large": ZarembaSize(1500, 0.65, 35, 0.04, 5.0, 35, 14, 0.6),
}


def language_model(
    embedding: keras.layers.Layer,
    num_words: int,
    units: int = 200,
    *,
    num_layers: int = 2,
    dropout: float = 0.0,
    scale: float = 0.1,
    head: keras.layers.Layer | None = None,
    batch_size: int | None = None,
    unroll: int | None = None,
) -> keras.Model:
    """Predicts each next word of a text.

    `logits_t = U h_t + b`, `h_t` the output of stacked LSTMs over the vectors of the words up to
    `t`. Dropout acts between layers, never between steps.

    Args:
        embedding: Any embedding layer, compact or `keras.layers.Embedding`.
        num_words: Number of words to predict from.
        units: Width of every LSTM.
        num_layers: Number of LSTMs.
        dropout: Share dropped of the embedding's output and of every LSTM's.
        scale: Bound of the initial weights and biases, U(-scale, scale).
        head: Layer from the last LSTM's outputs `(batch, steps, units)` to logits; default: a
            `Dense` layer, the full softmax.
        batch_size: Fixed batch size, which makes the LSTMs stateful: a batch continues the one
            before (`text.stream.stateful_batches`, `training.ResetStates`). `None`: each batch
            starts from zero states.
        unroll: Fixed number of steps to unroll the LSTMs for: 10 % faster on CPU.

    Returns: Model, `ids` int32 `(batch, steps)` -> `logits` float32 `(batch, steps, num_words)`.

    Raises: ValueError, if a size is out of range.

    >>> language_model(keras.layers.Embedding(20, 4), 20, units=8, batch_size=2).output_shape
    (2, None, 20)

    Reference: [Zaremba et al., 2014](https://arxiv.org/abs/1409.2329), sec. 3 and 4.1.
    """
    checks.integer_in("num_words", num_words, 2)
    checks.integer_in("units", units, 1)
    checks.integer_in("num_layers", num_layers, 1)
    checks.number("dropout", dropout, at_least=0, up_to=1)

    def uniform() -> Any:  # one initializer each: called twice, it draws the same numbers
        return keras.initializers.RandomUniform(-scale, scale)

    ids = keras.Input(batch_shape=(batch_size, unroll), dtype="int32", name="ids")
    hidden = embedding(ids)
    for number in range(num_layers):
        if dropout:
            hidden = keras.layers.Dropout(dropout, name=f"dropout_{number}")(hidden)
        hidden = keras.layers.LSTM(
            units,
            return_sequences=True,
            stateful=batch_size is not None,
            unroll=unroll is not None,
            kernel_initializer=uniform(),
            recurrent_initializer=uniform(),
            bias_initializer=uniform(),
            unit_forget_bias=False,
            name=f"lstm_{number}",
        )(hidden)
    if dropout:
        hidden = keras.layers.Dropout(dropout, name="dropout")(hidden)
    if head is None:
        # float32 logits even under mixed precision
        head = keras.layers.Dense(
            num_words,
            kernel_initializer=uniform(),
            bias_initializer=uniform(),
            dtype="float32",
            name="logits",
        )
    return keras.Model(ids, head(hidden), name="language_model")
