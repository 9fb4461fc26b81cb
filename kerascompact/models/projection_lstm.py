"""The neural-projection paper's text classifier: an LSTM over words of no vocabulary."""

import keras

from kerascompact.core import checks
from kerascompact.layers import BitCache, ProjectionEmbedding
from kerascompact.models.lstm_classifier import output_layer
from kerascompact.models.word_inputs import word_inputs


def projection_lstm(
    embedding: ProjectionEmbedding,
    num_classes: int,
    units: int = 256,
    *,
    dropout: float = 0.0,
    inputs: str | BitCache = "bits",
    sequence_length: int | None = None,
) -> keras.Model:
    """Classifies a text by the last state of an LSTM over the projections of its words.

    `p = softmax(W h_T + b)`, `h_T` the state after the last word (words without bits are skipped,
    with `mask_zero=True`). The embedding may be trained already, by `models.SkipGram` or in another
    model, and be frozen or not.

    Args:
        embedding: The `ProjectionEmbedding` that reads the words.
        num_classes: Number of classes, at least 2.
        units: Width of the LSTM's state; the paper uses 256.
        dropout: Share of the last state dropped in training.
        inputs: "bits", "words" (strings, not under XLA), or a `BitCache`, for ids.
        sequence_length: Fixed number of words, or `None` for any.

    Returns: Model, `bits` uint8 `(batch, length, T d)`, `words` `(batch, length)` or `ids` int32
    `(batch, length)` -> `probabilities` `(batch, num_classes)`.

    Raises: ValueError, if an argument is out of its range, or a cache is of other bits.

    >>> projection_lstm(ProjectionEmbedding(8, mask_zero=True), 3).output_shape
    (None, 3)

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 4.2.3.
    """
    checks.integer_in("num_classes", num_classes, 2)
    checks.integer_in("units", units, 1)
    checks.number("dropout", dropout, at_least=0, up_to=0.999)
    if getattr(embedding, "together", False):
        checks.fail("embedding", "a projection of words, not of entire texts", embedding)
    given, vectors = word_inputs(embedding, inputs, sequence_length)
    state = keras.layers.LSTM(units, name="lstm")(vectors)
    if dropout:
        state = keras.layers.Dropout(dropout, name="dropout")(state)
    return keras.Model(given, output_layer(num_classes)(state), name="projection_lstm")
