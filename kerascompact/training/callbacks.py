"""Callbacks that reset the states of RNNs, pay deferred proximal steps, and count steps."""

from typing import Any

import keras

from kerascompact.core.keras_graph import all_layers, batches_seen
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

    Put it before callbacks that keep weights by `get_weights`, as `EarlyStopping` does with
    `restore_best_weights=True`: they lose deferred steps if the optimizer is
    `Proximal(..., metric="adaptive")`. Evaluation, and files of models or weights, do not need it.

    >>> callback = CatchUp()
    """

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        catch_up(self.model)


class CountedSteps(keras.callbacks.Callback):
    """Base: counts the batches that a model has been trained on.

    With `steps_per_execution`, each call of `fit` trains on several, and Keras counts the last one
    of an epoch as if the data had gone on, which they may have: then the optimizer's own count is
    taken, which lacks batches whose update a loss scale has skipped.

    A callback that has counted nothing yet begins at the first batch of the epoch at which `fit`
    begins: a later one than 0 with `initial_epoch`, and when `keras.callbacks.BackupAndRestore`
    goes on after an interruption. Of data of unknown length it begins at the optimizer's count.
    """

    def __init__(self) -> None:
        super().__init__()
        self.step = 0  # what a subclass adds up
        self._first = self._seen = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch and not self.step:
            steps = self._steps_of_epoch()
            self.step = batches_seen(self.model.optimizer) if steps is None else epoch * steps

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._first = batch
        if self.model.steps_per_execution > 1:
            self._seen = batches_seen(self.model.optimizer)

    def batches_until(self, batch: int) -> int:
        """Number of batches of the call that has begun last, and that Keras ends with `batch`."""
        steps, counted = self._steps_of_epoch(), batch + 1 - self._first
        left = counted if steps is None else steps - self._first
        if counted == 1 or counted <= left and steps is not None:
            return counted
        # A training step of the model's own may leave its optimizer where it was.
        return batches_seen(self.model.optimizer) - self._seen or left

    def _steps_of_epoch(self) -> int | None:
        """Number of batches of an epoch; `None` if the length of the data is unknown."""
        return (self.params or {}).get("steps")
