"""Trainings that take hours and may be killed: a checkpoint after each epoch."""

import csv
import time
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerascompact.training import Backup, ResetStates


def fit(
    model: keras.Model, train: Any, dev: Any, folder: Path, epochs: int, verbose: int
) -> dict[str, Any]:
    """Trains a stateful language model epoch by epoch, each kept in `folder`.

    A run that was killed goes on after its last whole epoch. `folder/best.weights.h5` holds the
    weights of the epoch with the lowest perplexity on dev.

    Returns: What the epochs measured.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "epochs.csv"
    backup = Backup(folder / "backup")
    callbacks = [
        ResetStates(),
        keras.callbacks.ModelCheckpoint(
            folder / "best.weights.h5",
            monitor="val_perplexity",
            mode="min",
            save_best_only=True,
            save_weights_only=True,
            initial_value_threshold=_best_so_far(log),
        ),
        Timed(),
        keras.callbacks.CSVLogger(log, append=True),
        backup,
    ]
    model.fit(
        train,
        epochs=epochs,
        initial_epoch=backup.epoch,
        shuffle=False,  # each stream goes on
        validation_data=dev,
        callbacks=callbacks,
        verbose=verbose,
    )
    done = logged(log)
    dev_perplexity = [float(row["val_perplexity"]) for row in done]
    return {
        "dev_perplexity": min(dev_perplexity),
        "best_epoch": 1 + dev_perplexity.index(min(dev_perplexity)),
        "train_perplexity": float(done[-1]["perplexity"]),
        "dev_by_epoch": [round(value, 2) for value in dev_perplexity],
        "seconds_per_epoch": round(float(np.median([float(row["seconds"]) for row in done])), 1),
    }


class Timed(keras.callbacks.Callback):
    """Seconds of an epoch, dev included, in its logs."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.start = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["seconds"] = time.perf_counter() - self.start


def logged(log: Path) -> list[dict[str, str]]:
    """Rows of a `CSVLogger`: none before the first epoch has ended.

    Of an epoch written twice, by a run killed between its line and its checkpoint, the later.
    """
    if not log.exists():
        return []
    with log.open(encoding="utf-8", newline="") as file:
        return [*{row["epoch"]: row for row in csv.DictReader(file)}.values()]


def _best_so_far(log: Path) -> float | None:
    return min((float(row["val_perplexity"]) for row in logged(log)), default=None)
