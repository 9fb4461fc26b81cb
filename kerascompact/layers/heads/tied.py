"""Tied softmax: output logits from the same embedding that reads the input."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from kerascompact.core import checks
from kerascompact.core.embedding import TableEmbedding
from kerascompact.core.keras_graph import stock_reversible
from kerascompact.core.registration import register
from kerascompact.core.word_scorer import attach_scorer, has_scorer, scorer_of


def tied_softmax(
    embedding: keras.layers.Layer,
    hidden: Any,
    *,
    use_bias: bool = False,
    name: str = "logits",
) -> Any:
    """Logits of all words from the vectors of an embedding, without ever forming a `(V, d)` table.

    `x_v = E[v] . h + b_v`, or `E[v] . P h + b_v` where the hidden vectors have another width than
    the embedding. The embedding is called a second time, with `reverse=True`; projection and bias
    are layers beside it. All are ordinary nodes of the model: the embedding is trained by both
    uses, and saved, cloned, frozen and stored once.

    In training the vectors are computed for 2,048 words at a time, and again in the backward pass.
    In a form, codes never become vectors: the scores of code vectors are summed by code, products
    with cluster vectors are gathered by cluster, a low rank stays low.

    Args:
        embedding: A compact embedding, a form, or a `keras.layers.ReversibleEmbedding`, which the
            model calls on its ids.
        hidden: Hidden vectors of a functional model, `(..., h)`.
        use_bias: Whether each word has a bias.
        name: Name of the bias layer; the projection's name is this and "_projection".

    Returns: Symbolic logits `(..., V)`, float32 for compact embeddings and forms.

    Raises: ValueError, if the embedding cannot be called in reverse.
    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> embedding = ClusterEmbedding(99, 8, num_clusters=5)
    >>> ids = keras.Input((None,), dtype="int32")
    >>> hidden = keras.layers.LSTM(16, return_sequences=True)(embedding(ids))
    >>> keras.Model(ids, tied_softmax(embedding, hidden, use_bias=True)).output_shape
    (None, None, 99)

    Reference: [Press & Wolf, EACL 2017](https://arxiv.org/abs/1608.05859);
    [Inan et al., ICLR 2017](https://arxiv.org/abs/1611.01462).
    Differs: tied to compact embeddings. In a subclassed model call its layer itself,
    `embedding(hidden, reverse=True)`.
    """
    checks.boolean("use_bias", use_bias)
    stock = stock_reversible() or TableEmbedding
    if not isinstance(embedding, TableEmbedding | stock):
        checks.fail(
            "embedding",
            "an embedding that can be called with reverse=True: a compact one, a form or "
            "keras.layers.ReversibleEmbedding",
            embedding,
        )
    width = embedding.output_dim
    if hidden.shape[-1] != width:
        hidden = keras.layers.Dense(width, use_bias=False, name=f"{name}_projection")(hidden)
    logits = embedding(hidden, reverse=True)
    return WordBias(name=name)(logits) if use_bias else logits


@register
class WordBias(keras.layers.Layer):
    """Adds a bias to the logit of each word: `x_v + b_v`.

    Args:
        bias_initializer: Initializer of the bias `b`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: logits `(..., V)` -> float32 logits `(..., V)`.
    Storage: `32 V` bits.
    Example:
    >>> WordBias(bias_initializer="ones")(np.zeros((2, 3))).numpy().tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]

    Reference: the bias of `keras.layers.Dense`, for a head without a kernel of its own.
    """

    def __init__(self, bias_initializer: Any = "zeros", **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        self.bias = self.add_weight(
            shape=input_shape[-1:],
            initializer=self.bias_initializer.clone(),
            dtype="float32",
            autocast=False,
            name="bias",
        )

    def call(self, logits: Any) -> tf.Tensor:
        result = tf.cast(ops.convert_to_tensor(logits), tf.float32) + self.bias.value
        if not has_scorer(logits):
            return result
        scorer = scorer_of(logits)
        # A loss over a sample of the words adds the biases of these.
        return attach_scorer(result, scorer and scorer._replace(bias=self.bias_of))

    def bias_of(self, ids: tf.Tensor) -> tf.Tensor:
        """The numbers of ids `(m,)`."""
        return tf.gather(self.bias.value, ids)

    def compute_output_spec(self, logits: Any) -> keras.KerasTensor:
        return keras.KerasTensor(logits.shape, "float32")

    def get_config(self) -> dict[str, Any]:
        initializer = keras.initializers.serialize(self.bias_initializer)
        return {**super().get_config(), "bias_initializer": initializer}
