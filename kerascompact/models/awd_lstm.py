"""AWD-LSTM: a regularized language model, dense or sparse from the start."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras

from kerascompact import layers
from kerascompact.core import checks
from kerascompact.layers.recurrent.equal_parameters import SparseSize
from kerascompact.ops.segments import segment_lengths


class Dropouts(NamedTuple):
    """Dropout rates of AWD-LSTM; the defaults are the published ones for Penn Treebank.

    Args:
        words: Share of the words of the vocabulary.
        inputs: Share of the inputs of the first LSTM, with one mask per text.
        hidden: Share of the outputs between two LSTMs, with one mask per text.
        outputs: Share of the outputs of the last LSTM, with one mask per text.
        weights: Share of the recurrent weights.
    Example:
    >>> Dropouts(words=0.0).hidden
    0.25
    """

    words: float = 0.1
    inputs: float = 0.4
    hidden: float = 0.25
    outputs: float = 0.4
    weights: float = 0.5


class AWDSize(NamedTuple):
    """Size of the published model for Penn Treebank, and the settings of its training.

    Training is SGD with learning rate `rate` and a clipped gradient, over about `steps` words of a
    text (`training.RandomSteps`), averaged by `training.NTASGD`.
    """

    width: int = 400
    units: int = 1150
    layers: int = 3
    dropouts: Dropouts = Dropouts()
    activation_weight: float = 2.0
    change_weight: float = 1.0
    rate: float = 30.0
    clip: float = 0.25
    weight_decay: float = 1.2e-6
    steps: int = 70
    batch_size: int = 20
    patience: int = 5
    epochs: int = 500


AWD_PTB = AWDSize()
NO_DROPOUTS = Dropouts(0.0, 0.0, 0.0, 0.0, 0.0)


def sparse_sizes(
    dense: tuple[int, int], width: int, units: int, num_layers: int = 3
) -> list[SparseSize]:
    """Sizes of sparse layers with as many parameters as dense ones, layer by layer.

    Args:
        dense: Width of the vectors and units of the dense model.
        width: Embedding width of the sparse model, which is also the width of its last layer.
        units: Units of its other layers.
        num_layers: Number of recurrent layers.
    Returns: A size for each layer, for `awd_lstm(sizes=...)`.
    Raises: ValueError, if no sparse layer has that many parameters.
    Example:

    >>> [(s.units, s.num_segments) for s in sparse_sizes((200, 575), 200, 1150)]
    [(1150, 4), (1150, 5), (200, 2)]

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.2, table 4.
    """
    checks.integer_in("num_layers", num_layers, 1)
    of_dense = [dense[0], *[dense[1]] * (num_layers - 1), dense[0]]
    of_sparse = [width, *[units] * (num_layers - 1), width]
    return [
        layers.equal_parameters(
            (of_dense[place], of_dense[place + 1]), of_sparse[place], of_sparse[place + 1]
        )
        for place in range(num_layers)
    ]


def awd_lstm(
    embedding: keras.layers.Layer,
    num_words: int,
    units: int = AWD_PTB.units,
    *,
    num_layers: int = AWD_PTB.layers,
    sizes: Sequence[SparseSize] | None = None,
    tied: bool = True,
    dropouts: Dropouts = AWD_PTB.dropouts,
    activation_weight: float = AWD_PTB.activation_weight,
    change_weight: float = AWD_PTB.change_weight,
    batch_size: int | None = None,
) -> keras.Model:
    """Predicts each next word of a text, with the regularization of AWD-LSTM.

    `logits_t = E h_t + b`: stacked LSTMs over the vectors of the words up to `t`, the last of them
    as wide as the vectors, and a softmax under the embedding itself. Words are dropped, outputs
    between the layers with one mask per text, and recurrent weights.

    Args:
        embedding: Any embedding layer; to be tied, one that can be called with `reverse=True`.
        num_words: Number of words to predict from.
        units: Width of every LSTM but the last.
        num_layers: Number of LSTMs.
        sizes: Sizes of sparse layers, from `sparse_sizes`; they replace `units` and `num_layers`.
        tied: Whether the softmax is the embedding in reverse. If not, it has its own table, and the
            last LSTM has `units`.
        dropouts: Dropout rates, a `Dropouts`.
        activation_weight: `alpha` of `ActivationRegularization`, on the last outputs after dropout.
        change_weight: `beta` of `ActivationRegularization`, on the last outputs before dropout.
        batch_size: Fixed batch size, which makes the LSTMs stateful (see `language_model`), or
            `None`.

    Returns: Model, `ids` int32 `(batch, steps)` -> `logits` float32 `(batch, steps, num_words)`.

    Raises: ValueError, if a size is out of range, or the last layer does not fit the tied softmax.
    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> awd_lstm(ClusterEmbedding(20, 4, 3), 20, units=6, batch_size=2).output_shape
    (2, None, 20)

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182);
    [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.2.
    Differs: one bias vector in an LSTM, not two; weights start as U(-1/sqrt(s), 1/sqrt(s)), `s` the
    mean width of a segment. Random lengths in training come from `training.RandomSteps`.
    """
    checks.integer_in("num_words", num_words, 2)
    checks.integer_in("units", units, 1)
    checks.integer_in("num_layers", num_layers, 1)
    width = embedding.output_dim
    if sizes is None:
        widths = [*[units] * (num_layers - 1), width if tied else units]
        sizes = [SparseSize(one, 1, 1.0, 0, 0) for one in widths]
    if tied and sizes[-1].units != width:
        checks.fail("sizes", f"layers of which the last has {width} units, to be tied", sizes[-1])

    def dropped(rate: float, hidden: Any, name: str) -> Any:
        return layers.LockedDropout(rate, name=name)(hidden) if rate else hidden

    ids = keras.Input(batch_shape=(batch_size, None), dtype="int32", name="ids")
    hidden = embedding(ids)
    if dropouts.words:
        hidden = layers.EmbeddingDropout(dropouts.words, num_words, name="words")(hidden, ids)
    hidden = dropped(dropouts.inputs, hidden, "dropout")
    for number, size in enumerate(sizes):
        hidden = _lstm(size, dropouts.weights, batch_size is not None, f"lstm_{number}")(hidden)
        if number + 1 < len(sizes):
            hidden = dropped(dropouts.hidden, hidden, f"dropout_{number}")
    if change_weight:
        hidden = layers.ActivationRegularization(change_weight=change_weight, name="changes")(
            hidden
        )
    hidden = dropped(dropouts.outputs, hidden, "dropout_of_outputs")
    if activation_weight:
        hidden = layers.ActivationRegularization(
            activation_weight=activation_weight, name="activations"
        )(hidden)
    if tied:
        logits = layers.tied_softmax(embedding, hidden, use_bias=True)
    else:
        start = keras.initializers.RandomUniform(-0.1, 0.1)
        head = keras.layers.Dense(
            num_words, kernel_initializer=start, dtype="float32", name="logits"
        )
        logits = head(hidden)
    return keras.Model(ids, logits, name="awd_lstm")


def _lstm(size: SparseSize, weight_dropout: float, stateful: bool, name: str) -> keras.layers.Layer:
    number = len(segment_lengths(size.units, size.num_segments))
    scale = 1 / math.sqrt(size.units / number)

    def uniform() -> Any:  # one initializer each: called twice, it draws the same numbers
        return keras.initializers.RandomUniform(-scale, scale)

    config: dict[str, Any] = {
        "return_sequences": True,
        "stateful": stateful,
        "weight_dropout": weight_dropout,
        "kernel_initializer": uniform(),
        "recurrent_initializer": uniform(),
        "bias_initializer": uniform(),
        "unit_forget_bias": False,
        "name": name,
    }
    if number == 1 and size.gamma == 1:
        return layers.WeightDropLSTM(size.units, **config)
    return layers.SparseLSTM(size.units, size.num_segments, size.gamma, **config)
