"""Self-governing network (SGNN): a text's bits, a small network, a softmax."""

import keras

from kerascompact.core import checks
from kerascompact.layers import ProjectionEmbedding
from kerascompact.models.lstm_classifier import output_layer
from kerascompact.models.word_inputs import word_inputs


def sgnn(
    embedding: ProjectionEmbedding,
    num_classes: int,
    *,
    dropout: float = 0.0,
    inputs: str = "bits",
    sequence_length: int | None = None,
) -> keras.Model:
    """Classifies a text by the bits of all its n-grams, those of its words together.

    `p = softmax(W relu(f(P(text))) + b)`, `f` the embedding's network, `P` the `T d` signs of sums
    over the features of all words.

    Args:
        embedding: A `ProjectionEmbedding` with `together=True`. The paper's has
            `output_dim=256, hidden_units=(256,), normalization=None`.
        num_classes: Number of classes, at least 2.
        dropout: Share of the embedding's output dropped in training.
        inputs: "bits", or "words" (strings, not under XLA).
        sequence_length: Fixed number of words where they come as strings, or `None` for any.

    Returns: Model, `bits` uint8 `(batch, T d)` or `words` `(batch, length)` -> `probabilities`
    `(batch, num_classes)`.

    Raises: ValueError, if an argument is out of its range, or the embedding is one of single words.

    >>> sgnn(ProjectionEmbedding(256, (256,), normalization=None, together=True), 3).output_shape
    (None, 3)

    Reference: [Ravi & Kozareva, EMNLP 2018](https://aclanthology.org/D18-1105), sec. 3 and 4.
    Differs: n-grams end where words do.
    """
    checks.integer_in("num_classes", num_classes, 2)
    checks.number("dropout", dropout, at_least=0, up_to=0.999)
    if not getattr(embedding, "together", False):
        checks.fail("embedding", "a ProjectionEmbedding with together=True", embedding)
    given, vector = word_inputs(embedding, inputs, sequence_length)
    hidden = keras.layers.ReLU(name="relu")(vector)
    if dropout:
        hidden = keras.layers.Dropout(dropout, name="dropout")(hidden)
    return keras.Model(given, output_layer(num_classes)(hidden), name="sgnn")
