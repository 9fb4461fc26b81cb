"""Averaged SGD that starts when the development text stops improving."""

import io
import os
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks, files


class NTASGD(keras.callbacks.Callback):
    """Averages the weights of all steps since dev has not improved for `patience` epochs.

    Training goes on as before; beside it stands `w_bar = 1 / (K - T + 1) sum_{t = T}^K w_t`, from
    the first epoch whose `monitor` is worse than the best one more than `patience` epochs ago.
    Every evaluation within `fit` then sees the averages, the best of them are kept, and the model
    has the best weights when `fit` returns. Any optimizer will do: with plain SGD at a constant
    rate it is the paper's NT-ASGD.

    The finetune step of AWD-LSTM is the same once more on the weights found, averaging from the
    first step and stopping where the first run would have started to average:
    `NTASGD(from_start=True, stop=True)`.

    Args:
        monitor: Entry of the logs that must fall, `val_loss` or `val_perplexity`.
        patience: Epochs `n` that are given to improve; the paper has 5.
        from_start: Whether to average from the first step on.
        stop: Whether to stop, once averaging, where averaging would start.
        folder: Where the best weights are kept, `best.weights.h5`, and after each epoch the
            averages: a later `fit` with the same folder goes on there. Put this callback before
            `keras.callbacks.BackupAndRestore`. `None`: the best are kept in memory.

    Raises: ValueError, if `patience` is below 1, or the logs have no `monitor`.
    Example:
    >>> NTASGD(patience=5).averaging
    False

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), algorithm 1 and sec. 5
    (finetune).
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 5,
        from_start: bool = False,
        stop: bool = False,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.patience = checks.integer_in("patience", patience, 1)
        self.from_start = checks.boolean("from_start", from_start)
        self.stop = checks.boolean("stop", stop)
        self.folder = None if folder is None else Path(folder)
        self.history: list[float] = []
        self.steps = 0  # that the averages are of; 0: there are none
        self._best: list[np.ndarray] | None = None
        self._swapped = False

    @property
    def averaging(self) -> bool:
        """Whether the averages are kept."""
        return self.steps > 0

    def on_train_begin(self, logs: Any = None) -> None:
        self._averages = [tf.Variable(one.value) for one in self.model.trainable_variables]
        self._take = tf.function(self._accumulate)
        path = self._state_path()
        if path is not None and path.exists():
            with np.load(path) as stored:
                self.history, self.steps = stored["history"].tolist(), int(stored["steps"])
                for place, average in enumerate(self._averages if self.steps else ()):
                    average.assign(stored[f"average_{place}"])

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        # A run that was killed between two files may go on one epoch earlier.
        self.history = self.history[:epoch]
        if self.from_start and not self.averaging:
            self._start()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.averaging:
            self.steps += 1
            self._take(tf.constant(float(self.steps)))

    def on_test_begin(self, logs: Any = None) -> None:
        self._swap(True)

    def on_test_end(self, logs: Any = None) -> None:
        self._swap(False)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self.monitor not in (logs or {}):
            checks.fail("monitor", f"one of {sorted(logs or {})}", self.monitor)
        value = float((logs or {})[self.monitor])
        if not self.history or value < min(self.history):
            self._keep()
        before = self.history[: -self.patience]
        worse = bool(before) and value > min(before)
        self.history.append(value)
        if worse and not self.averaging:
            self._start()
        elif worse and self.stop:
            self.model.stop_training = True
        path = self._state_path()
        if path is not None:
            self._write(path)

    def on_train_end(self, logs: Any = None) -> None:
        if self.folder is not None and (self.folder / "best.weights.h5").exists():
            self.model.load_weights(self.folder / "best.weights.h5")
        elif self._best is not None:
            self.model.set_weights(self._best)

    def _start(self) -> None:
        self.steps = 1
        for average, variable in self._pairs():
            average.assign(variable.value)

    def _accumulate(self, steps: tf.Tensor) -> None:
        for average, variable in self._pairs():
            average.assign_add((tf.cast(variable.value, average.dtype) - average) / steps)

    def _pairs(self) -> Any:
        return zip(self._averages, self.model.trainable_variables, strict=True)

    def _swap(self, swapped: bool) -> None:
        """Exchanges weights and averages, if that is not done yet."""
        if not self.averaging or self._swapped == swapped:
            return
        self._swapped = swapped
        for average, variable in self._pairs():
            held = tf.identity(variable.value)
            variable.assign(average)
            average.assign(held)

    def _keep(self) -> None:
        """The weights that were evaluated are the best ones so far."""
        self._swap(True)
        if self.folder is None:
            self._best = self.model.get_weights()
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.model.save_weights(self.folder / "best.weights.h5")
        self._swap(False)

    def _state_path(self) -> Path | None:
        return None if self.folder is None else self.folder / "nt_asgd.npz"

    def _write(self, path: Path) -> None:
        arrays = self._averages if self.averaging else []
        named = {f"average_{place}": one.numpy() for place, one in enumerate(arrays)}
        data = io.BytesIO()
        np.savez(data, history=self.history, steps=self.steps, **named)
        files.write_bytes(path, data.getvalue())
