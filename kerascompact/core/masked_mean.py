"""Means of vectors, by whoever made them where that is faster than to make each of them."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops


def attach_mean(vectors: tf.Tensor, mean: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
    """Hands a faster way to average vectors `(1, L, d)` on with them, as Keras hands on masks.

    It stays with this very tensor: whatever is computed from it has none.

    Args:
        vectors: The vectors.
        mean: From the bool mask `(1, L)` to the mean of the vectors that it keeps, `(1, d)`.

    >>> vectors = attach_mean(tf.ones((1, 3, 2)), lambda mask: 5 * tf.ones((1, 2)))
    >>> masked_mean(vectors, tf.constant([[True, True, False]])).numpy().tolist()
    [[5.0, 5.0]]
    """
    vectors.masked_mean = mean
    return vectors


def masked_mean(vectors: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Averages vectors `(..., L, d)` over the steps that `mask`, `(..., L)`, keeps."""
    attached = getattr(vectors, "masked_mean", None)
    if attached is not None:
        return ops.cast(attached(ops.cast(mask, "bool")), vectors.dtype)
    exact = type_of_sums(vectors)
    return ops.cast(averaged(ops.cast(vectors, exact), mask), vectors.dtype)


def averaged(vectors: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The sum of the vectors that a mask keeps over their number.

    >>> averaged(tf.constant([[[6.0], [2.0]]]), tf.constant([[True, False]])).numpy().tolist()
    [[6.0]]
    """
    kept = ops.expand_dims(ops.cast(mask, vectors.dtype), -1)
    return over_number(ops.sum(vectors * kept, axis=len(mask.shape) - 1), mask)


def over_number(added: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Sums over the steps that a mask keeps, `(..., d)`, divided by their number.

    >>> over_number(tf.constant([[6.0]]), tf.constant([[True, False, True]])).numpy().tolist()
    [[3.0]]
    """
    return added / number_of(mask, added.dtype)


def type_of_sums(vectors: tf.Tensor) -> str:
    """Type to add up many vectors in: float16 ends at 65,504, and loses percents of long texts.

    >>> type_of_sums(tf.ones((), tf.float16)), type_of_sums(tf.ones((), tf.float64))
    ('float32', 'float64')
    """
    return keras.backend.result_type(vectors.dtype, "float32")


def number_of(mask: tf.Tensor, dtype: str = "float32") -> tf.Tensor:
    """Steps that a mask keeps, `(..., 1)`, but at least one: a sum of none is 0 as a mean, too."""
    kept = ops.sum(ops.cast(mask, dtype), axis=len(mask.shape) - 1, keepdims=True)
    return ops.maximum(kept, 1)


@contextlib.contextmanager
def averaging(layers: Sequence[Any]) -> Iterator[None]:
    """Context in which layers know that their vectors are averaged, and read for nothing else.

    Layers that have no faster way do not care. Elsewhere a mean beside the vectors would be work on
    top of theirs.

    >>> import types
    >>> layer = types.SimpleNamespace()
    >>> with averaging([layer]):
    ...     layer.is_averaged
    True
    >>> layer.is_averaged
    False
    """
    for layer in layers:
        layer.is_averaged = True
    try:
        yield
    finally:
        for layer in layers:
            layer.is_averaged = False
