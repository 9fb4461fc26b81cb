"""Proves that the file predicts what Keras measured, on a whole data set."""

import time
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.export.freezing import shipped
from kerascompact.export.interpreter import Interpreter
from kerascompact.export.quiet import quiet
from kerascompact.export.recipe import RECIPES, Recipe

# What float32 sums in another order may differ by after an LSTM of hundreds of steps.
ROUNDING = 1e-5


class Report(NamedTuple):
    """What `verify` measured; differences are between the outputs of Keras and of the file.

    `agreement`: share of rows with the same argmax. `ties`: rows with another argmax although no
    output differs by more than `ROUNDING`, so that neither answer is decided. `microseconds`:
    median of one run of the file, one thread. Accuracies are `None` without labels.
    """

    rows: int
    agreement: float
    ties: int
    largest_difference: float
    mean_difference: float
    file_bytes: int
    microseconds: float
    keras_accuracy: float | None
    file_accuracy: float | None
    outputs: np.ndarray

    def __str__(self) -> str:
        accuracy = (
            ""
            if self.keras_accuracy is None
            else f", accuracy Keras {self.keras_accuracy:.4f} file {self.file_accuracy:.4f}"
        )
        ties = f" ({self.ties} ties within float32 rounding)" if self.ties else ""
        return (
            f"{self.rows} rows, argmax agreement {self.agreement:.6f}{ties}, largest difference "
            f"{self.largest_difference:.2e}, mean {self.mean_difference:.2e}{accuracy}, "
            f"{self.file_bytes} bytes, {self.microseconds:.1f} us"
        )


def verify(
    model: keras.Model,
    flatbuffer: bytes | str | Path,
    data: np.ndarray,
    labels: np.ndarray | None = None,
    *,
    tolerance: float = 1e-4,
    min_agreement: float = 1.0,
    batch_size: int = 256,
    progress: bool = False,
) -> Report:
    """Compares every row of `data` in Keras and in the file, and raises if they differ.

    The model is taken as it ships: its embeddings frozen (hard assignments) and their tables
    rounded by the recipe that the file names, so that a difference is the file's, not the
    recipe's.

    Args:
        model: The trained model, or the frozen one; one input and one output.
        flatbuffer: The file's path or bytes.
        data: Inputs `(rows, length)`; rows go to the file one by one.
        labels: Class of each row, to report accuracies.
        tolerance: Largest allowed difference of an output, absolute. The file adds the same
            float32 products in another order; 1e-4 leaves 100 times the error seen for that.
        min_agreement: Smallest allowed share of rows with the same argmax; a tie counts as the
            same here, and is reported.
        batch_size: Rows that Keras predicts at once.
        progress: Shows a progress bar.

    Returns: A `Report`.

    Raises: ValueError, past tolerance, naming the worst row; or if the shapes do not fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> file = kerascompact.export.convert(model)
    >>> verify(model, file, np.array([[1, 2, 3, 4], [8, 0, 0, 0]])).agreement
    1.0
    """
    data = np.asarray(data)
    if data.ndim < 2 or len(data) == 0:
        checks.fail("data", "an array (rows, length) with at least one row", data)
    if labels is not None and len(labels) != len(data):
        checks.fail("labels", f"one label for each of the {len(data)} rows", labels)
    file = Interpreter(flatbuffer)
    if len(file.inputs) != 1 or len(file.outputs) != 1:
        checks.fail("flatbuffer", "a file with one input and one output", [*file.inputs])
    named = (file.metadata or {}).get("recipe")
    recipe = Recipe(**named) if named else RECIPES["float32"]
    got, seconds = _run(file, data, progress)
    with quiet(), shipped(model, recipe) as (frozen, _):
        expected = np.array(frozen.predict(data, batch_size=batch_size, verbose=0))
        if got.shape != expected.shape:
            raise ValueError(
                f"`flatbuffer` must give outputs of shape {list(expected.shape)}, as the model "
                f"does. Received: outputs of shape {list(got.shape)}."
            )
        # Keras rounds a row otherwise in a batch than alone; the phone sees it alone.
        for row in np.flatnonzero(_differ(got, expected))[:1000]:
            expected[row] = frozen.predict(data[row : row + 1], verbose=0)[0]
    difference = np.abs(got.astype(np.float64) - expected)
    same = ~_differ(got, expected)
    ties = ~same & (difference.reshape(len(data), -1).max(axis=1) <= ROUNDING)
    report = Report(
        rows=len(data),
        agreement=float(np.mean(same)),
        ties=int(np.count_nonzero(ties)),
        largest_difference=float(difference.max()),
        mean_difference=float(difference.mean()),
        file_bytes=len(file.data),
        microseconds=float(np.median(seconds) * 1e6),
        keras_accuracy=_accuracy(expected, labels),
        file_accuracy=_accuracy(got, labels),
        outputs=got,
    )
    # Not `largest_difference > tolerance`: a NaN must fail as well.
    decided = np.mean(same | ties)
    if not report.largest_difference <= tolerance or decided < min_agreement:
        worst = int(np.argmax(np.nan_to_num(difference.reshape(len(data), -1), nan=np.inf).max(1)))
        raise ValueError(
            f"The file does not predict what Keras does: {report}. Worst row: {worst}. "
            f"Allowed: difference {tolerance:g}, agreement {min_agreement:g}."
        )
    return report


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rows in which any argmax differs, `(rows,)`; a row may hold many, one per token."""
    differ = np.argmax(one, axis=-1) != np.argmax(other, axis=-1)
    return differ.reshape(len(one), -1).any(axis=1)


def _run(file: Interpreter, data: np.ndarray, progress: bool) -> tuple[np.ndarray, list[float]]:
    (input_name,), (output_name,) = file.inputs, file.outputs
    outputs, seconds = [], []
    for row in _tracked(data, progress):
        start = time.perf_counter()
        result = file.run({input_name: row[None]})
        seconds.append(time.perf_counter() - start)
        outputs.append(result[output_name][0])
    return np.stack(outputs), seconds


def _tracked(data: np.ndarray, progress: bool) -> Any:
    if not progress:
        return data
    from rich.progress import track

    return track(data, description="verify")


def _accuracy(outputs: np.ndarray, labels: np.ndarray | None) -> float | None:
    return None if labels is None else float(np.mean(np.argmax(outputs, axis=-1) == labels))
