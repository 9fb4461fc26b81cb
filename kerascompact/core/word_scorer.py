"""How logits were made, for losses that need only some of them."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf


class Scorer(NamedTuple):
    """How logits were made, for whoever needs only some of them.

    `hidden` `(..., d)`; `rows` gives the vectors `(m, d)` of ids `(m,)`, `bias` their biases `(m,)`
    or is `None`.
    """

    hidden: tf.Tensor
    rows: Callable[[tf.Tensor], tf.Tensor]
    bias: Callable[[tf.Tensor], tf.Tensor] | None = None


def attach_scorer(logits: tf.Tensor, scorer: Scorer | None) -> tf.Tensor:
    """Hands a scorer on with logits, out of a layer and a model, as Keras hands on masks.

    It stays with this very tensor: whatever is computed from it has none. `None` says that these
    are all logits of a call that does not train, so that a loss can tell them from logits that have
    lost their scorer on the way.

    >>> logits = attach_scorer(tf.zeros((2, 3)), Scorer(tf.ones((2, 1)), lambda ids: ids))
    >>> scorer_of(logits).hidden.shape, has_scorer(2.0 * logits)
    (TensorShape([2, 1]), False)
    """
    logits.word_scorer = scorer
    return logits


def has_scorer(logits: tf.Tensor) -> bool:
    """Whether `attach_scorer` was called on this very tensor, be it with `None`."""
    return hasattr(logits, "word_scorer")


def scorer_of(logits: tf.Tensor) -> Scorer | None:
    """The scorer of logits in training, `None` elsewhere.

    Raises: ValueError, if the logits do not come straight from a layer that attaches one.
    """
    if not has_scorer(logits):
        maker = getattr(getattr(logits, "op", None), "name", None)  # a layer's, in a graph
        raise ValueError(
            "`y_pred` must be logits as `layers.WordLogits`, or an embedding called with "
            "reverse=True, returns them, so that the loss can compute those of some words only. "
            "Put what changes logits (an activation, a scaling, a cast, a reshape) before that "
            "layer, or train by all words with `SparseSoftmaxCrossEntropy`. Received: y_pred of "
            f"the shape {tuple(logits.shape)}" + (f", made by {maker!r}." if maker else ".")
        )
    return logits.word_scorer
