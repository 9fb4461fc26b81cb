"""Sums of vectors, by whoever made them where that is faster than to make each of them."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf
from keras import ops


def attach_sum(vectors: tf.Tensor, summed: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Hands a faster way to sum vectors `(1, L, d)` on with them, as Keras hands on masks.

    It stays with this very tensor: whatever is computed from it has none.

    Args:
        vectors: The vectors.
        summed: From what a mask keeps, `(1, L)` of 0 and 1, to the sum of these vectors, `(1, d)`.

    >>> vectors = attach_sum(tf.ones((1, 3, 2)), lambda kept: tf.reduce_sum(kept) * tf.ones((1, 2)))
    >>> masked_sum(vectors, tf.constant([[1.0, 1.0, 0.0]])).numpy().tolist()
    [[2.0, 2.0]]
    """
    vectors.masked_sum = summed
    return vectors


def masked_sum(vectors: tf.Tensor, kept: tf.Tensor) -> tf.Tensor:
    """Sums vectors `(..., L, d)` over the steps where `kept`, `(..., L)`, is 1 and not 0."""
    summed = getattr(vectors, "masked_sum", None)
    if summed is not None:
        return ops.cast(summed(kept), vectors.dtype)
    return ops.sum(vectors * ops.expand_dims(kept, -1), axis=len(kept.shape) - 1)


@contextlib.contextmanager
def summing(layers: Sequence[Any]) -> Iterator[None]:
    """Context in which layers know that their vectors are summed, and read for nothing else.

    Layers that have no faster way do not care. Elsewhere a sum beside the vectors would be work on
    top of theirs.

    >>> import types
    >>> layer = types.SimpleNamespace()
    >>> with summing([layer]):
    ...     layer.is_summed
    True
    >>> layer.is_summed
    False
    """
    for layer in layers:
        layer.is_summed = True
    try:
        yield
    finally:
        for layer in layers:
            layer.is_summed = False
