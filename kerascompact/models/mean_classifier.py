"""fastText's text classifier: the mean of the words' vectors, a softmax."""

import keras

from kerascompact.core import checks
from kerascompact.layers import MaskedMax, MaskedMean, UnknownAsPadding, WeightedMean
from kerascompact.models.lstm_classifier import classified

POOLING = ("mean", "weighted", "mean_and_max")


def mean_classifier(
    embedding: keras.layers.Layer,
    num_classes: int,
    *,
    hidden_units: int | None = None,
    dropout: float = 0.0,
    sequence_length: int | None = None,
    skip_unknown: bool = False,
    pooling: str = "mean",
    multi_label: bool = False,
    head_rank: int | None = None,
) -> keras.Model:
    """Classifies a text by the mean of its words' vectors.

    `p = softmax(W e + b)`, `e` the mean over the words (padding is left out if the embedding masks
    it); with `hidden_units`, `p = softmax(W relu(U e + c) + b)`.

    Args:
        embedding: Any embedding layer, compact or `keras.layers.Embedding`.
        num_classes: Number of classes, at least 2.
        hidden_units: Width of a hidden layer, or `None` for none (as fastText).
        dropout: Share of the mean dropped in training.
        sequence_length: Fixed number of ids, or `None` for any.
        skip_unknown: Whether unknown words are left out of the mean, as padding is; for embeddings
            that mask it. Worth a try with a small vocabulary.
        pooling: "mean"; "weighted", with a weight for each word, which is the last column of the
            embedding (`WeightedMean`); or "mean_and_max", the mean and the maximum side by side.
        multi_label: Whether a text may have several classes or none: a sigmoid for each.
        head_rank: Rank of the output layer's kernel, which then is a product of two: fewer numbers
            if there are many classes. `None`: one full kernel.

    Returns: Model, `ids` int32 `(batch, length)` -> `probabilities` `(batch, num_classes)`.

    Raises: ValueError, if an argument is out of its range.

    >>> mean_classifier(keras.layers.Embedding(20, 4, mask_zero=True), 3).output_shape
    (None, 3)

    Reference: [Joulin et al., EACL 2017](https://arxiv.org/abs/1607.01759), sec. 2.
    """
    checks.integer_in("num_classes", num_classes, 2)
    checks.number("dropout", dropout, at_least=0, up_to=0.999)
    checks.boolean("skip_unknown", skip_unknown)
    checks.choice("pooling", pooling, POOLING)
    ids = keras.Input((sequence_length,), dtype="int32", name="ids")
    known = UnknownAsPadding(name="known")(ids) if skip_unknown else ids
    mean = _pooled(embedding(known), pooling)
    if dropout:
        mean = keras.layers.Dropout(dropout, name="dropout")(mean)
    if hidden_units is not None:
        checks.integer_in("hidden_units", hidden_units, 1)
        mean = keras.layers.Dense(hidden_units, activation="relu", name="hidden")(mean)
    outputs = classified(mean, num_classes, multi_label, head_rank)
    return keras.Model(ids, outputs, name="mean_classifier")


def _pooled(vectors: keras.KerasTensor, pooling: str) -> keras.KerasTensor:
    if pooling == "weighted":
        return WeightedMean(name="mean")(vectors)
    mean = MaskedMean(name="mean")(vectors)
    if pooling == "mean":
        return mean
    return keras.layers.Concatenate(name="both")([mean, MaskedMax(name="max")(vectors)])
