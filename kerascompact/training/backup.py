"""Backup of a training run: what a restarted job needs to go on as if nothing had happened."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import seed_generators


class Backup(keras.callbacks.Callback):
    """Writes the state of a training run after each epoch, and goes on from it after a restart.

    The state is that of the weights, of the optimizer and of the random numbers of all layers and
    losses. A write is complete or does not count, at whatever moment the process is killed. On
    several machines each process keeps a copy of its own, and all go on from the last epoch that
    all of them have.

    Differs from `keras.callbacks.BackupAndRestore`, which keeps no random state, writes two files
    of which a kill may leave one, and lets all processes write to the same path.

    The restarted script makes model and data as before, and tells `fit` where to begin:

    ```python
    backup = Backup("backup", strategy)
    model.fit(data, epochs=9, initial_epoch=backup.epoch, callbacks=[backup])
    ```

    The result is that of a run without a break if the batches of an epoch depend only on its
    number: with `shuffle=False`, or with `data` that begins at epoch `backup.epoch`. What other
    callbacks have counted is not kept; `TemperatureAnnealing`, `NoiseAnnealing` and
    `MagnitudePruning` go on at the step at which the epoch begins.

    Args:
        directory: Folder of the copies, which is made; of this run only.
        strategy: Strategy under which the model is trained, such as `MultiWorkerStrategy`, if any.

    Attributes:
        epoch: Number of epochs that the copies hold; 0 if there are none.

    Raises: ValueError, if `fit` begins at another epoch, or the model belongs to another strategy.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     Backup(directory).epoch
    0
    """

    def __init__(self, directory: str | Path, strategy: Any = None) -> None:
        super().__init__()
        if strategy is not None and not isinstance(strategy, tf.distribute.Strategy):
            checks.fail("strategy", "a `tf.distribute.Strategy` or None", strategy)
        resolver: Any = getattr(strategy, "cluster_resolver", None)
        self._several = bool(resolver and resolver.cluster_spec().as_dict())
        name = f"{resolver.task_type}-{resolver.task_id}" if self._several else "worker-0"
        self.directory = Path(directory) / name
        self.directory.mkdir(parents=True, exist_ok=True)
        self.strategy: Any = strategy
        self.epoch = self._last_of_all()

    def _last_of_all(self) -> int:
        """The last epoch of which every process has a copy: they are at most one epoch apart."""
        last = max(self._epochs(), default=0)
        if not self._several:
            return last
        each = self.strategy.gather(tf.constant([last]), axis=0)
        return int(tf.reduce_min(each))

    def _epochs(self) -> list[int]:
        found = (path.name for path in self.directory.iterdir())
        return [int(name) for name in found if name.isdigit()]

    def on_train_begin(self, logs: Any = None) -> None:
        if self.strategy not in (None, self.model.distribute_strategy):
            raise ValueError(
                "`model` must be made within the scope of the `strategy` of its backup. "
                f"Received: a model of {type(self.model.distribute_strategy).__name__}."
            )
        if self.epoch == 0:
            return
        if not self.model.built:
            raise ValueError(
                "`model` must be built before `fit` to go on from a backup: call it on a batch, or "
                "give it an `Input`. Received: a model without weights."
            )
        if not self.model.optimizer.built:
            self.model.optimizer.build(self.model.trainable_variables)
        path = self.directory / str(self.epoch)
        self.model.load_weights(path / "model.weights.h5")
        states = json.loads((path / "seeds.json").read_text("utf-8"))
        generators = seed_generators(self.model)
        if len(states) != len(generators):
            checks.fail("model", f"one with {len(states)} seed generators", len(generators))
        for generator, state in zip(generators, states, strict=True):
            generator.state.assign(state)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch != self.epoch:
            raise ValueError(
                "`fit` must continue where the backup ends: `initial_epoch=backup.epoch`. "
                f"Received: epoch {epoch} with a backup of {self.epoch} epochs."
            )

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch + 1
        new = self.directory / f"{self.epoch}.tmp"
        shutil.rmtree(new, ignore_errors=True)  # of a run that was killed here
        new.mkdir()
        self.model.save_weights(new / "model.weights.h5")
        seeds = [generator.state.numpy().tolist() for generator in seed_generators(self.model)]
        (new / "seeds.json").write_text(json.dumps(seeds), "utf-8")
        done = self.directory / str(self.epoch)
        shutil.rmtree(done, ignore_errors=True)  # of a run that got further than this one
        os.replace(new, done)
        for old in self._epochs():
            if old < self.epoch - 1:  # another process may not have this one yet
                shutil.rmtree(self.directory / str(old))
