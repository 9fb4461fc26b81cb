"""Compacted: a trained model within a budget, and what was chosen for each part."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import keras
from rich import box
from rich.markup import escape
from rich.table import Table

from kerascompact import export
from kerascompact.tasks.folder import write_model


class Choice(NamedTuple):
    """What was chosen for a part: its layer, the way, bytes, and the loss with it alone."""

    part: str
    chosen: str
    bytes: int
    loss: float


class Compacted(NamedTuple):
    """What `search.compact` returns.

    Args:
        file: Bytes of the `.tflite` file.
        model: Keras model whose tables and kernels are forms.
        choices: A `Choice` for each part.
        loss: Loss of `model` on the data, without penalties of regularizers.
        loss_before: The same of the trained model.
        budget: Largest number of bytes of the file.
        report: What `export.verify` found about the file.

    Example:
    >>> found = Compacted(b"file", keras.Sequential(), [], 0.5, 0.4, 8, None)
    >>> len(found.file) <= found.budget
    True
    >>> found
    Compacted(4 of 8 bytes, loss 0.5000, before 0.4000)
    """

    file: bytes
    model: keras.Model
    choices: list[Choice]
    loss: float
    loss_before: float
    budget: int
    report: Any

    def __repr__(self) -> str:  # without the bytes of the file
        bytes_of = f"{len(self.file):,} of {self.budget:,} bytes"
        return f"Compacted({bytes_of}, loss {self.loss:.4f}, before {self.loss_before:.4f})"

    def table(self) -> Table:
        """The choices as a table for the terminal."""
        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        table.add_column("part", no_wrap=True)
        table.add_column("chosen")
        for head in ("bytes", "loss alone"):
            table.add_column(head, justify="right", no_wrap=True)
        for one in self.choices:
            table.add_row(escape(one.part), one.chosen, f"{one.bytes:,}", f"{one.loss:.4f}")
        table.add_row("file", f"budget {self.budget:,}", f"{len(self.file):,}", f"{self.loss:.4f}")
        return table

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Writes `model.tflite` and `model.keras`.

        Args:
            folder: Folder, made if it does not exist.

        Returns: The folder.

        Raises: OSError, if a file cannot be written.
        """
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        export.save(self.file, folder / "model.tflite")
        write_model(self.model, folder / "model.keras")
        return folder
