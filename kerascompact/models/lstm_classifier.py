"""The cluster paper's text classifier: an LSTM, its last state, a softmax."""

import keras

from kerascompact.core import checks


def lstm_classifier(
    embedding: keras.layers.Layer,
    num_classes: int,
    units: int = 50,
    *,
    recurrent: keras.layers.Layer | None = None,
    dropout: float = 0.0,
    sequence_length: int | None = None,
    multi_label: bool = False,
) -> keras.Model:
    """Classifies a text by the last state of an LSTM over its words.

    `p = softmax(W h_T + b)`, `h_T` the state after the last word (padding is skipped if the
    embedding masks it).

    Args:
        embedding: Any embedding layer, compact or `keras.layers.Embedding`.
        num_classes: Number of classes, at least 2.
        units: Width of the LSTM's state; the paper uses 50.
        recurrent: A recurrent layer that returns its last output, in place of the LSTM, such as the
            paper's `keras.layers.SimpleRNN(2)`; `units` is then not used.
        dropout: Share of the last state dropped in training; the paper uses none.
        sequence_length: Fixed number of ids, or `None` for any.
        multi_label: Whether a text may have several classes or none: a sigmoid for each.

    Returns: Model, `ids` int32 `(batch, length)` -> `probabilities` `(batch, num_classes)`.

    Raises: ValueError, if an argument is out of its range, or `recurrent` returns sequences.

    >>> lstm_classifier(keras.layers.Embedding(20, 4, mask_zero=True), 3).output_shape
    (None, 3)

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), sec. 3; Table 5.
    """
    checks.integer_in("num_classes", num_classes, 2)
    checks.integer_in("units", units, 1)
    checks.number("dropout", dropout, at_least=0, up_to=0.999)
    if recurrent is None:
        recurrent = keras.layers.LSTM(units, name="lstm")
    if getattr(recurrent, "return_sequences", True):
        checks.fail("recurrent", "a recurrent layer with return_sequences=False", recurrent)
    ids = keras.Input((sequence_length,), dtype="int32", name="ids")
    state = recurrent(embedding(ids))
    if dropout:
        state = keras.layers.Dropout(dropout, name="dropout")(state)
    return keras.Model(ids, output_layer(num_classes, multi_label)(state), name="lstm_classifier")


def classified(
    hidden: keras.KerasTensor, num_classes: int, multi_label: bool, head_rank: int | None
) -> keras.KerasTensor:
    """Probabilities of the classes; with `head_rank`, of a kernel of that rank, `W = A B`."""
    if head_rank is not None:
        checks.integer_in("head_rank", head_rank, 1)
        hidden = keras.layers.Dense(head_rank, use_bias=False, name="low_rank")(hidden)
    return output_layer(num_classes, multi_label)(hidden)


def output_layer(num_classes: int, multi_label: bool = False) -> keras.layers.Layer:
    """The layer of the probabilities: a softmax, or a sigmoid for each class.

    >>> output_layer(3)(np.zeros((1, 2), np.float32)).shape
    TensorShape([1, 3])
    """
    activation = "sigmoid" if checks.boolean("multi_label", multi_label) else "softmax"
    # float32 even under mixed precision: a float16 softmax ties classes that differ
    return keras.layers.Dense(
        num_classes, activation=activation, dtype="float32", name="probabilities"
    )
