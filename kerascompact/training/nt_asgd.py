"""NT-ASGD: averaged SGD that starts when the development loss stops improving."""

import io
import math
import os
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerascompact.core import checks, files
from kerascompact.core.keras_graph import evaluate_validation_data, has_validation_data
from kerascompact.optimizers.pending import catch_up
from kerascompact.training.callbacks import ResetStates
from kerascompact.training.weight_averages import WeightAverages

BEST = "best.weights.h5"
NO_BASELINE = (
    "the `monitor` of the weights that `fit` begins with, such as "
    '`model.evaluate(dev, return_dict=True)["loss"]`, if `from_start=True` and `monitor` is not '
    "measured by the `validation_data` of `fit`"
)


class NTASGD(keras.callbacks.Callback):
    """Averages weights from the step where dev has not improved for `patience` epochs.

    Training continues unchanged, with the average `w_bar = 1 / (K - T + 1) sum_{t = T}^K w_t` from
    the first epoch whose `monitor` is worse than the best one more than `patience` epochs ago.
    Evaluations within `fit` use the averages, and the model has the best weights when `fit`
    returns. Any optimizer works; plain SGD at a constant rate gives the paper's NT-ASGD. With
    `optimizers.Proximal`, deferred proximal steps are applied before averaging. Averages keep the
    zeros of the latest weights, also those of `MagnitudePruning`, which comes before this callback;
    the best weights may be from an epoch before its last choice. With `steps_per_execution`, the
    average is over the weights that each call of several steps ends with.

    The finetune step of AWD-LSTM repeats this from the weights found, averages from the first step,
    and stops where the first run would have started to average: `NTASGD(from_start=True,
    stop=True)`. It never returns weights that are worse than the initial ones.

    Args:
        monitor: Entry of the logs that must fall, `val_loss` or `val_perplexity`.
        patience: Number of epochs `n` without improvement; the paper uses 5.
        from_start: Whether to average from the first step. The initial weights are then kept until
            an epoch is better.
        stop: Whether to stop at the epoch where averaging would start.
        folder: Folder of the best weights, `best.weights.h5`, and of the averages after each epoch:
            a later `fit` with the same folder continues. Put this callback before
            `keras.callbacks.BackupAndRestore`, which may save within epochs only if there is a
            folder (averages then go on from the last epoch). `None`: the best are kept in memory.
        baseline: Value of `monitor` for the initial weights, which are kept until an epoch is
            better. Default: with `from_start` they are evaluated after the first epoch, on the
            `validation_data` of `fit`; without it, the first epoch is kept.

    Raises: ValueError, if `patience` is below 1, the logs have no `monitor`, or `baseline` is
        missing where the weights cannot be evaluated.
    Example:
    >>> NTASGD(patience=5).averaging
    False

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), algorithm 1 and sec. 5
    (finetune). Differs: other callbacks that keep weights (`ModelCheckpoint`, `EarlyStopping` with
    `restore_best_weights`) see those of training, not the averages that were evaluated.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        patience: int = 5,
        from_start: bool = False,
        stop: bool = False,
        folder: str | os.PathLike[str] | None = None,
        baseline: float | None = None,
    ) -> None:
        super().__init__()
        self.monitor = monitor
        self.patience = checks.integer_in("patience", patience, 1)
        self.from_start = checks.boolean("from_start", from_start)
        self.stop = checks.boolean("stop", stop)
        self.baseline = None if baseline is None else checks.number("baseline", baseline)
        self.folder = None if folder is None else Path(folder)
        self.history: list[float] = []
        self._before: float | None = None  # `monitor` of the weights that `fit` began with
        self._best: list[np.ndarray] | None = None
        self._averages: Any = None  # `WeightAverages`, once `fit` begins

    @property
    def averaging(self) -> bool:
        """Whether the averages are kept."""
        return self._averages is not None and self._averages.steps > 0

    @property
    def best(self) -> float:
        """The smallest value of `monitor` so far, that of the weights that `fit` returns."""
        known = [*self.history, math.inf if self._before is None else self._before]
        return min((value for value in known if not math.isnan(value)), default=math.inf)

    def on_train_begin(self, logs: Any = None) -> None:
        if self.model.optimizer is not None and not self.model.optimizer.built:
            # Or Keras warns of a file without its state, where it reads the best weights.
            self.model.optimizer.build(self.model.trainable_variables)
        if self._averages is None or not self._averages.are_of(self.model):
            self._averages = WeightAverages(self.model)
        path = self._state_path()
        if path is not None and path.exists():
            with np.load(path) as stored:
                self.history, steps = stored["history"].tolist(), int(stored["steps"])
                before = float(stored["before"]) if "before" in stored else math.nan
                self._before = None if math.isnan(before) else before
                count = sum(name.startswith("average_") for name in stored)
                averages = [stored[f"average_{place}"] for place in range(count)]
            if steps and self._averages.fits(averages):  # those of other weights begin anew
                self._averages.load(averages, steps)

        self._begun = False

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if not self._begun and (epoch == 0 or not self.history):
            self._begin()
        self._begun = True
        # A run that was killed between two files may go on one epoch earlier.
        self.history = self.history[:epoch]
        if self.from_start and not self.averaging:
            self._averages.add()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if self.averaging:
            self._averages.add()

    def on_test_begin(self, logs: Any = None) -> None:
        if self.averaging:
            self._averages.replace_weights()

    def on_test_end(self, logs: Any = None) -> None:
        self._averages.restore_weights()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if self.monitor not in (logs or {}):
            checks.fail("monitor", f"one of {sorted(logs or {})}", self.monitor)
        if self.from_start and self._before is None:
            self._before = self._value_of_the_best()
        value = float((logs or {})[self.monitor])
        if value < self.best:
            self._keep()
        # NaN is worse than any number, and no number is worse than NaN.
        before = [one for one in self.history[: -self.patience] if not math.isnan(one)]
        worse = bool(before) and not value <= min(before)
        self.history.append(value)
        if worse and not self.averaging:
            self._averages.add()
        elif worse and self.stop:
            self.model.stop_training = True
        self._write()

    def on_train_end(self, logs: Any = None) -> None:
        self._load_best()

    def _begin(self) -> None:
        """Forgets an earlier `fit`; the initial weights may be the best."""
        self.history, self._best, self._before = [], None, self.baseline
        self._averages.steps = 0
        path = self._state_path()
        if path is not None:
            best, steps = path.parent / BEST, int(getattr(self.model.optimizer, "iterations", 0))
            if steps and not path.exists() and best.exists():
                return  # killed within the first epoch: those are the weights that it began with
            path.unlink(missing_ok=True)
            best.unlink(missing_ok=True)
        if self.from_start or self.baseline is not None:
            self._keep()

    def _keep(self) -> None:
        """The weights that were evaluated are the best ones so far."""
        if self.averaging:
            self._averages.replace_weights()
        else:
            catch_up(self.model)  # deferred steps depend on moments that keep changing
        if self.folder is None:
            self._best = self.model.get_weights()
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.model.save_weights(self.folder / BEST)
        self._averages.restore_weights()

    def _load_best(self) -> None:
        if self.folder is not None and (self.folder / BEST).exists():
            # The file also has the optimizer's state: training goes on with the one it has now, as
            # it does without a folder.
            weights = {id(weight) for weight in self.model.weights}
            every = [*self.model.variables, *getattr(self.model.optimizer, "variables", ())]
            others = [variable for variable in every if id(variable) not in weights]
            held = [keras.ops.convert_to_numpy(variable) for variable in others]
            self.model.load_weights(self.folder / BEST)
            for variable, value in zip(others, held, strict=True):
                variable.assign(value)
        elif self._best is not None:
            self.model.set_weights(self._best)

    def _value_of_the_best(self) -> float:
        """The `monitor` of the weights kept so far, evaluated as `fit` has just done."""
        name = self.monitor.removeprefix("val_")
        if not has_validation_data(self.model) or name == self.monitor:
            checks.fail("baseline", NO_BASELINE, self.baseline)
        held = self.model.get_weights()
        self._load_best()
        values = evaluate_validation_data(self.model, [ResetStates()])
        self.model.set_weights(held)
        return float(values[name])

    def _write(self) -> None:
        """Writes the files that a later `fit` needs to continue."""
        path = self._state_path()
        if path is None:
            return
        arrays = self._averages.arrays() if self.averaging else []
        named = {f"average_{place}": one for place, one in enumerate(arrays)}
        before = math.nan if self._before is None else self._before
        data = io.BytesIO()
        np.savez(data, history=self.history, steps=self._averages.steps, before=before, **named)
        files.write_bytes(path, data.getvalue())

    def _state_path(self) -> Path | None:
        return None if self.folder is None else self.folder / "nt_asgd.npz"
