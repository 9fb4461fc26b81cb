"""Places of the largest and smallest numbers, with operators that TFLite has."""

import contextlib
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import numpy as backend

from kerascompact.core.keras_graph.replacing import replaced


def largest_by_value() -> contextlib.AbstractContextManager[None]:
    """Context in which `keras.ops.argmax` and `argmin` compare numbers, and no signs of zeros.

    Keras takes -0.0 for less than 0.0 and reads its bits, for which TFLite has no operator. Of
    zeros alone the first one counts here.

    >>> with largest_by_value():
    ...     int(keras.ops.argmax(keras.ops.array([1.0, 3.0, 2.0])))
    1
    """
    return replaced({(backend, "argmax"): _by(tf.argmax), (backend, "argmin"): _by(tf.argmin)})


def _by(function: Callable[..., Any]) -> Callable[..., Any]:
    def place(x: Any, axis: int | None = None, keepdims: bool = False) -> Any:
        x = keras.ops.convert_to_tensor(x)
        rank = len(x.shape)
        read = keras.ops.reshape(x, (-1,)) if axis is None else x
        found = function(read, axis=0 if axis is None else axis, output_type=tf.int32)
        if not keepdims:
            return found
        return tf.reshape(found, [1] * rank) if axis is None else tf.expand_dims(found, axis)

    return place
