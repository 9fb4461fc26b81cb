"""Functions whose operators in a file have no answer for some numbers, where TensorFlow has one."""

import contextlib
import functools
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.ops import nn

from kerascompact.core.keras_graph.replacing import replaced

SMALLEST = float(np.finfo(np.float32).tiny)  # of the numbers that no runtime takes for 0


def for_extreme_numbers() -> contextlib.AbstractContextManager[None]:
    """Context in which a traced function has numbers in its file wherever Keras has.

    - `x / |x|` of zeros, as of an empty text, is 0: Keras takes the smaller of `1 / |x|` and
      `1 / epsilon`, but the runtime's `1 / sqrt(0)` is no number, which is smaller than none.
    - `log(1 + exp(x))` of a large `x` is `x`: the converter has no operator for it, and writes this
      formula, whose exponential is infinite from 89 on.
    - Infinity is what is larger than all finite numbers: the runtime finds nothing equal to it.

    >>> with for_extreme_numbers():
    ...     keras.ops.normalize([[0.0, 0.0], [0.0, 4.0]]).numpy().tolist()
    [[0.0, 0.0], [0.0, 1.0]]
    """
    own = nn._normalize

    @functools.wraps(own)
    def normalized(x: Any, axis: Any = -1, order: Any = 2, epsilon: float | None = None) -> Any:
        if order != 2:
            return own(x, axis, order, epsilon)
        epsilon = keras.config.epsilon() if epsilon is None else epsilon
        x = keras.ops.convert_to_tensor(x)
        x = x if len(x.shape) else x[None]
        squares = keras.ops.sum(keras.ops.square(x), axis=axis, keepdims=True)
        # the smaller of two inverses is the inverse of the larger
        squares = keras.ops.maximum(squares, max(epsilon * epsilon, SMALLEST))
        return x * keras.ops.rsqrt(squares)

    return replaced(
        {
            (nn, "_normalize"): normalized,
            (tf.nn, "softplus"): lambda features, name=None: softplus(features),
            (tf.math, "softplus"): lambda features, name=None: softplus(features),
            (tf.math, "log_sigmoid"): lambda x, name=None: log_sigmoid(x),
            (tf.math, "is_inf"): lambda x, name=None: tf.abs(x) > x.dtype.max,
        }
    )


def softplus(x: Any) -> Any:
    """`log(1 + exp(x))`.

    >>> [round(float(y), 3) for y in softplus(keras.ops.array([-1.0, 0.0, 50.0]))]
    [0.313, 0.693, 50.0]
    """
    return tf.nn.relu(x) + _log_of_more_than_one(x)


def log_sigmoid(x: Any) -> Any:
    """`-log(1 + exp(-x))`."""
    return tf.minimum(x, 0) - _log_of_more_than_one(x)


def _log_of_more_than_one(x: Any) -> Any:
    """`log(1 + exp(-|x|))`; by a product, since the runtime has no `-x` of integers."""
    return tf.math.log(1 + tf.exp(-1 * tf.abs(x)))
