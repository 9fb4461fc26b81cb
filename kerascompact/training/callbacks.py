"""A Keras callback for stateful recurrent layers."""

from typing import Any

import keras


class ResetStates(keras.callbacks.Callback):
    """Sets the states of stateful RNNs to zero where a text begins.

    That is at the start of every epoch and of every evaluation; without it a stateful model starts
    to read its training text with the state that the end of the development text left.

    >>> callback = ResetStates()
    """

    def _reset(self) -> None:
        for layer in self.model._flatten_layers():
            if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
                layer.reset_state()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._reset()

    def on_test_begin(self, logs: Any = None) -> None:
        self._reset()
