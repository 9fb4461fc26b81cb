"""Sums of a batch of one, which Keras takes for sums with a bias."""

import contextlib
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import numpy as backend

from kerascompact.core.keras_graph.replacing import replaced


def batch_of_one() -> contextlib.AbstractContextManager[None]:
    """Context in which `keras.ops.add` of a batch of one is that of a larger batch.

    Numbers `(1, L, 1)`, such as a mask, look like a bias of `L` channels to it. Added to
    `(1, L, d)`, they become an operator that TFLite does not have; and with `d = L` they are added
    along the wrong axis (Keras 3.12 to 3.15). A file has a batch of one, and its model was trained
    with more. A constant `(L, 1)` is such a bias in training, too: it is added as one, but by the
    operator of a sum.

    >>> x, mask = keras.ops.zeros((1, 2, 2)), keras.ops.array([[[0.0], [1.0]]])
    >>> with batch_of_one():
    ...     keras.ops.add(x, mask).numpy().tolist()
    [[[0.0, 0.0], [1.0, 1.0]]]
    """
    before = backend.add

    def add(x1: Any, x2: Any) -> Any:
        if not _is_column(x1, x2):
            if not _is_bias_in_front(x1, x2):
                return before(x1, x2)
            x2 = keras.ops.reshape(x2, [-1] + [1] * (len(x1.shape) - 2))
        dtype = keras.backend.result_type(x1.dtype, x2.dtype)
        return tf.add(tf.cast(x1, dtype), tf.cast(x2, dtype))

    return replaced({(backend, "add"): add})


def _is_bias_in_front(x1: Any, x2: Any) -> bool:
    """Whether Keras adds `x2` along the second axis of `x1`, of three or more."""
    first, second = (list(getattr(one, "shape", ())) for one in (x1, x2))
    sizes = [size for size in second if size != 1]
    return len(first) > 2 and sizes == first[1:2] and None not in sizes and sizes != first[-1:]


def _is_column(x1: Any, x2: Any) -> bool:
    """Whether a tensor `(1, L, 1)` that the batch decides is added to one of as many axes.

    A constant is the same in a larger batch, and is added as it was in training.
    """
    if not all(isinstance(x, tf.Tensor) for x in (x1, x2)) or not x2.shape.rank:
        return False
    is_constant = tf.is_symbolic_tensor(x1) and not tf.is_symbolic_tensor(x2)
    return bool(x1.shape.rank == x2.shape.rank and x2.shape[-1] == 1 and not is_constant)
