"""What Keras computes for training alone, or in a way that TFLite does not have."""

import contextlib
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import numpy as backend
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell

from kerascompact.core.keras_graph.replacing import replaced


def for_inference() -> contextlib.AbstractContextManager[None]:
    """Context in which recurrent layers draw no dropout, and a sum is a sum.

    - Keras draws the masks of a recurrent layer's dropout in each call and uses them in training
      alone. They advance a seed, so that they stay in a traced function.
    - Keras adds a number for each step, `(L, 1)`, as a bias of channels in front, which TFLite has
      for images only.

    >>> x, steps = np.zeros((1, 2, 3), "float32"), np.array([[1.0], [2.0]], "float32")
    >>> with for_inference():
    ...     np.asarray(keras.ops.add(x, steps))[0, :, 0].tolist()
    [1.0, 2.0]
    """
    add = backend.add

    def plain_add(x1: Any, x2: Any) -> Any:
        first, second = (list(getattr(one, "shape", ())) for one in (x1, x2))
        if len(first) > 2 and len(second) > 1 and second[-1] == 1:
            dtype = keras.backend.result_type(*(one.dtype for one in (x1, x2)))
            return tf.add(*(keras.ops.convert_to_tensor(one, dtype) for one in (x1, x2)))
        return add(x1, x2)

    return replaced(
        {
            (DropoutRNNCell, "get_dropout_mask"): lambda self, step: None,
            (DropoutRNNCell, "get_recurrent_dropout_mask"): lambda self, step: None,
            (backend, "add"): plain_add,
        }
    )
