"""Means of vectors as tensors of integers, which have one scale each, can hold them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import masked_mean

HALVINGS = 7  # a weight is at least one of 128 steps


def integer_means() -> dict[tuple[Any, str], Callable[..., Any]]:
    """The functions for tensors of integers in place of those of `core.masked_mean`."""

    def where_known(function: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
        """For masks of a known length: the factors of each number of steps are in a table."""
        return lambda x, mask: (own if mask.shape[-1] is None else function)(x, mask)

    return {
        (masked_mean, "averaged"): where_known(integer_mean, masked_mean.averaged),
        (masked_mean, "over_number"): where_known(over_number, masked_mean.over_number),
    }


def integer_mean(vectors: Any, mask: Any) -> Any:
    """Averages vectors `(..., L, d)` over the steps that `mask`, `(..., L)`, keeps.

    A sum of many vectors has so coarse a scale that the mean of few is a step or two. Here each
    vector has the weight `2^-k`, `k = floor(log2 n)`, of `n` that are kept, inside of one product,
    which adds up exactly; the rest is a factor `2^k / n` of more than a half.

    >>> vectors = tf.reshape(tf.range(6.0), (1, 3, 2))
    >>> integer_mean(vectors, tf.constant([[True, False, True]])).numpy().tolist()
    [[2.0, 3.0]]
    """
    weight, rest = factors(mask)
    weights = tf.cast(mask, tf.float32) * weight
    return tf.squeeze(tf.matmul(weights[..., None, :], vectors), -2) * rest


def over_number(added: Any, mask: Any) -> Any:
    """Sums over the steps that a mask keeps, `(..., d)`, divided by their number.

    >>> over_number(tf.constant([[6.0]]), tf.constant([[True, False, True]])).numpy().tolist()
    [[3.0]]
    """
    weight, rest = factors(mask)
    return added * weight * rest


def factors(mask: Any) -> tuple[Any, Any]:
    """Two factors `(..., 1)` whose product is `1 / n`: `2^-k`, and what is left; 0 and 1 for none.

    A sum of no integers is whatever there was in memory, in the runtime of TensorFlow 2.21.
    """
    numbers = np.maximum(np.arange(mask.shape[-1] + 1), 1)
    weight = 0.5 ** np.minimum(np.floor(np.log2(numbers)), HALVINGS)
    kept = tf.reduce_sum(tf.cast(mask, tf.int32), axis=-1, keepdims=True)
    tables = (weight * np.minimum(np.arange(len(weight)), 1), 1 / (numbers * weight))
    first, second = (tf.gather(tf.constant(one, tf.float32), kept) for one in tables)
    return first, second
