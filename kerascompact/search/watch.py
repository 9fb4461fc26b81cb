"""Watch: reports dev scores of a training, and stops it if it is behind or late."""

import time

import keras
import optuna

from kerascompact.search.runs import tenths


class Watch(keras.callbacks.Callback):
    """Reports dev scores to Optuna, and stops what is behind the median or out of time.

    Args:
        trial: The trial.
        metric: Metric of the dev score.
        until: When to stop, by `time.time`.
        prunes: Whether the pruner may stop it.
    """

    def __init__(self, trial: optuna.Trial, metric: str, until: float, prunes: bool) -> None:
        super().__init__()
        self.trial, self.name, self.until, self.prunes = trial, f"val_{metric}", until, prunes
        self.late = False

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        for tenth in tenths(epoch + 1, self.params["epochs"]):
            self.trial.report((logs or {})[self.name], tenth)
        if self.prunes and self.trial.should_prune():
            raise optuna.TrialPruned
        if time.time() > self.until and epoch + 1 < self.params["epochs"]:
            self.late = self.model.stop_training = True
