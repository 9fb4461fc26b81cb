"""What Keras computes for training alone."""

import contextlib

from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell

from kerascompact.core.keras_graph.replacing import replaced


def for_inference() -> contextlib.AbstractContextManager[None]:
    """Context in which recurrent layers draw no dropout.

    Keras draws its masks in each call and uses them in training alone. They advance a seed, so that
    they stay in a traced function.

    >>> lstm = keras.layers.LSTM(2, dropout=0.5)
    >>> with for_inference():
    ...     lstm(np.zeros((1, 3, 2))).shape
    TensorShape([1, 2])
    """
    return replaced(
        {
            (DropoutRNNCell, "get_dropout_mask"): lambda self, step: None,
            (DropoutRNNCell, "get_recurrent_dropout_mask"): lambda self, step: None,
        }
    )
