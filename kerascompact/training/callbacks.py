"""Callbacks that reset the states of RNNs and pay deferred proximal steps."""

from typing import Any

import keras

from kerascompact.core.keras_graph import all_layers
from kerascompact.optimizers.pending import catch_up


class ResetStates(keras.callbacks.Callback):
    """Sets the states of stateful RNNs to zero where a text begins.

    It acts at the start of every epoch and evaluation; without it a stateful model would begin its
    training text with the state from the end of the development text.

    >>> callback = ResetStates()
    """

    def _reset(self) -> None:
        for layer in all_layers(self.model):
            if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
                layer.reset_state()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._reset()

    def on_test_begin(self, logs: Any = None) -> None:
        self._reset()


class CatchUp(keras.callbacks.Callback):
    """Applies the deferred proximal steps of rows at the end of every epoch.

    Put it before callbacks that keep or save weights without the optimizer: `EarlyStopping` with
    `restore_best_weights=True`, and `ModelCheckpoint` with `save_weights_only=True`, whose files
    lose deferred steps if the optimizer is `Proximal(..., metric="adaptive")`. Evaluation and saved
    models do not need it.

    >>> callback = CatchUp()
    """

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        catch_up(self.model)
