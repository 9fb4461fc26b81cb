"""Start of an embedding from a given table: checks, and initializers with fixed values."""

import math
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.initializers.common_code import CommonCode

TRACEABLE = (keras.initializers.RandomUniform, keras.initializers.RandomNormal, CommonCode)
SHARE = 0.9  # initial probability of the code found for a word


def table_of(weights: Any, input_dim: int, output_dim: int) -> np.ndarray:
    """Reads the table `(V, d)` from `weights=`, an array or a list of one, as in Keras.

    Raises: ValueError, if the table has another shape or is not finite.

    >>> table_of([np.eye(3)], 3, 3).dtype
    dtype('float32')
    """
    if isinstance(weights, list | tuple) and len(weights) == 1 and np.ndim(weights[0]) == 2:
        (weights,) = weights
    try:
        with np.errstate(over="ignore"):  # numbers beyond float32 are reported as infinite
            table = np.asarray(weights, np.float32)
    except (TypeError, ValueError):
        checks.fail("weights", f"numbers of shape {(input_dim, output_dim)}", weights)
    if table.shape != (input_dim, output_dim):
        raise ValueError(
            f"`weights` must be a table of shape {(input_dim, output_dim)}, a vector for each id. "
            f"Received: an array of shape {table.shape}."
        )
    return checks.finite("weights", table)


def given(values: np.ndarray) -> Callable[..., tf.Tensor]:
    """An initializer that returns given values.

    Values are not assigned later: a model that is built by its first batch would lose them.

    >>> given(np.ones(2))((2,), dtype="float32").numpy().tolist()
    [1.0, 1.0]
    """
    return lambda shape, dtype=None: tf.reshape(tf.constant(values, dtype), shape)


def divided(draw: Any, scale: float) -> Callable[..., tf.Tensor]:
    """An initializer of numbers that are drawn in float32 and divided by a scale.

    For smaller floats, the initializers that can be traced are: operators of a graph then write
    over their inputs, where one by one they hold the numbers in float32 three times.

    Args:
        draw: Initializer of the numbers.
        scale: Divisor, after the cast.

    >>> divided(keras.initializers.Ones(), 4.0)((2,), "bfloat16").dtype.name
    'bfloat16'
    """

    def make(shape: Any, dtype: Any) -> tf.Tensor:
        return tf.cast(draw(shape, dtype="float32"), dtype) / tf.cast(scale, dtype)

    def make_smaller(shape: Any, dtype: Any) -> tf.Tensor:
        if dtype == "float32" or not isinstance(draw, TRACEABLE):
            return make(shape, dtype)
        return tf.function(lambda: make(shape, dtype)).get_concrete_function()()

    return make_smaller


def logits_for(codes: np.ndarray, cardinality: int) -> np.ndarray:
    """Logits `(..., K)` whose softmax gives each code 0.9, and all others an equal share.

    A sample is then the code nine times out of ten, and the gradient a third of its maximum at 0.5:
    codes are kept at first, but can change.

    >>> shares = np.exp(logits_for(np.array([[1]]), 10)[0, 0].astype(np.float64))
    >>> (shares / shares.sum()).round(3).tolist()[:3]
    [0.011, 0.9, 0.011]
    """
    logits = np.zeros((*codes.shape, cardinality), np.float32)
    lead = math.log(SHARE / (1 - SHARE) * (cardinality - 1))
    np.put_along_axis(logits, codes[..., None].astype(np.int64), lead, axis=-1)
    return logits
