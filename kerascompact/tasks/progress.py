"""One tidy line of progress for a training."""

from typing import Any, Self

import keras
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class TrainingProgress(keras.callbacks.Callback):
    """A bar over all epochs, with the loss and the dev score of the last one.

    As a context it also ends the bar, and shows the cursor again, if training is interrupted.

    Args:
        title: What stands before the bar.

    >>> with TrainingProgress("train ME") as progress:
    ...     print(progress.title)
    train ME
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title
        self.epoch = 0
        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[facts]}"),
            TimeElapsedColumn(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar.live.is_started:
            self.bar.stop()

    def on_train_begin(self, logs: Any = None) -> None:
        self.task = self.bar.add_task(self.title, total=self.params["epochs"], facts="")
        self.bar.start()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        done = self.epoch + (batch + 1) / (self.params.get("steps") or batch + 1)
        self.bar.update(self.task, completed=done)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch

    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        logs = logs or {}
        facts = f"epoch {epoch + 1}/{self.params['epochs']}"
        if "loss" in logs:
            facts += f"  loss {logs['loss']:.3f}"
        for score in (value for name, value in logs.items() if name.startswith("val_")):
            facts += f"  dev {score:.4f}"
            break
        self.bar.update(self.task, completed=epoch + 1, facts=facts)

    def on_train_end(self, logs: Any = None) -> None:
        self.bar.stop()
