"""Kim's text classifier: filters of several widths, their maxima over time, a softmax."""

from collections.abc import Sequence

import keras

from kerascompact.core import checks
from kerascompact.layers.text_convolution import TextConvolution
from kerascompact.models.lstm_classifier import classified


def text_cnn(
    embedding: keras.layers.Layer,
    num_classes: int,
    *,
    filter_sizes: Sequence[int] = (3, 4, 5),
    num_filters: int = 100,
    dropout: float = 0.5,
    sequence_length: int | None = None,
    multi_label: bool = False,
    head_rank: int | None = None,
) -> keras.Model:
    """Classifies a text by the strongest answer of each filter to any of its windows.

    `p = softmax(W [y_3, y_4, y_5] + b)`, `y_h` the maxima over time of the filters of `h` words,
    see `TextConvolution`; padding is left out if the embedding masks it. The defaults are those of
    the Anchor & Transform paper, whose vectors have a width of 256.

    Args:
        embedding: Any embedding layer, compact or `keras.layers.Embedding`.
        num_classes: Number of classes, at least 2.
        filter_sizes: Widths of the filters, in words, distinct.
        num_filters: Filters of each width.
        dropout: Share of the maxima dropped in training.
        sequence_length: Fixed number of ids, or `None` for any.
        multi_label: Whether a text may have several classes or none: a sigmoid for each.
        head_rank: Rank of the output layer's kernel, which then is a product of two: fewer numbers
            if there are many classes. `None`: one full kernel.

    Returns: Model, `ids` int32 `(batch, length)` -> `probabilities` `(batch, num_classes)`.

    Raises: ValueError, if an argument is out of its range.

    >>> text_cnn(keras.layers.Embedding(20, 4, mask_zero=True), 3).output_shape
    (None, 3)

    Reference: [Kim, EMNLP 2014](https://aclanthology.org/D14-1181); with these settings,
    [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), table 5.
    Differs: short texts, see `TextConvolution`.
    """
    checks.integer_in("num_classes", num_classes, 2)
    checks.number("dropout", dropout, at_least=0, up_to=0.999)
    sizes = [checks.integer_in("filter_sizes", size, 1) for size in filter_sizes]
    if not sizes or len(set(sizes)) < len(sizes):
        checks.fail("filter_sizes", "a list of distinct integers, at least one", filter_sizes)
    ids = keras.Input((sequence_length,), dtype="int32", name="ids")
    vectors = embedding(ids)
    found = [TextConvolution(num_filters, size, name=f"filters_{size}")(vectors) for size in sizes]
    hidden = keras.layers.Concatenate(name="maxima")(found) if len(found) > 1 else found[0]
    if dropout:
        hidden = keras.layers.Dropout(dropout, name="dropout")(hidden)
    outputs = classified(hidden, num_classes, multi_label, head_rank)
    return keras.Model(ids, outputs, name="text_cnn")
