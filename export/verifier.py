"""Proves that the file predicts what Keras measured, on a whole data set."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.export.freezing import shipped
from kerascompact.export.interpreter import Interpreter
from kerascompact.export.predictions import Outputs, of_file, of_keras
from kerascompact.export.quiet import quiet
from kerascompact.export.recipe import RECIPES, Recipe
from kerascompact.export.rows import rows_of
from kerascompact.export.text_in import over_bits
from kerascompact.text.vocabulary import Vocabulary

# What float32 sums in another order may differ by after an LSTM of hundreds of steps.
ROUNDING = 1e-5
# Largest difference and smallest agreement: of files that add the same float32 products in another
# order, 100 times the error seen for that; of those that multiply rounded inputs as integers.
EXACT, ROUNDED = (1e-4, 1.0), (math.inf, 0.98)

Data = np.ndarray | Sequence[str] | Sequence[bytes] | dict[str, np.ndarray]


class Report(NamedTuple):
    """What `verify` measured; differences are between the outputs of Keras and of the file.

    `agreement`: share of rows with the same argmax, of every output. `ties`: rows with another
    argmax although no output differs by more than `ROUNDING`, so that neither answer is decided.
    `microseconds`: median of one run of the file, one thread. `outputs` are the file's, a
    dictionary if it has several.

    Accuracies are `None` without labels: `keras_accuracy` is that of the model as it ships, its
    tables rounded by the recipe, and `trained_accuracy`, if it was asked for, that of the model as
    it was trained. `exact`: whether the file's recipe computes what Keras does, up to the order of
    float32 sums.
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
    outputs: Any
    worst_row: int = 0
    trained_accuracy: float | None = None
    exact: bool = True

    def __str__(self) -> str:
        accuracy = ""
        if self.keras_accuracy is not None:
            accuracy = f", accuracy Keras {self.keras_accuracy:.4f} file {self.file_accuracy:.4f}"
        if self.trained_accuracy is not None:
            accuracy += f" (as trained {self.trained_accuracy:.4f})"
        ties = f" ({self.ties} ties within float32 rounding)" if self.ties else ""
        return (
            f"{self.rows} rows, argmax agreement {self.agreement:.6f}{ties}, largest difference "
            f"{self.largest_difference:.2e}, mean {self.mean_difference:.2e}{accuracy}, "
            f"{self.file_bytes} bytes, {self.microseconds:.1f} us"
        )

    def check(
        self,
        tolerance: float | None = None,
        min_agreement: float | None = None,
        max_loss: float | None = None,
    ) -> None:
        """Raises `ValueError`, if the file is past what is allowed, see `verify`."""
        usual = EXACT if self.exact else ROUNDED
        tolerance = usual[0] if tolerance is None else tolerance
        min_agreement = usual[1] if min_agreement is None else min_agreement
        same = self.agreement + self.ties / self.rows
        # Not `largest_difference > tolerance`: a NaN must fail as well.
        fits = self.largest_difference <= tolerance and same >= min_agreement - 1e-12
        if not fits:
            raise ValueError(
                f"The file does not predict what Keras does: {self}. Worst row: {self.worst_row}. "
                f"Allowed: difference {tolerance:g}, agreement {min_agreement:g}."
            )
        before = self.keras_accuracy if self.trained_accuracy is None else self.trained_accuracy
        if max_loss is None:
            return
        if before is None or self.file_accuracy is None:
            checks.fail("labels", "given, for a bound of the loss of accuracy", None)
        if before - self.file_accuracy > max_loss + 1e-12:
            raise ValueError(f"The file loses accuracy: {self}. Allowed: {max_loss:g}.")


def verify(
    model: keras.Model,
    flatbuffer: bytes | str | Path,
    data: Data,
    labels: np.ndarray | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    tolerance: float | None = None,
    min_agreement: float | None = None,
    max_loss: float | None = None,
    signature: str | None = None,
    batch_size: int = 256,
    progress: bool = False,
) -> Report:
    """Compares every row of `data` in Keras and in the file, and raises if they differ.

    The model is taken as it ships: its embeddings frozen (hard assignments) and their tables
    rounded by the recipe that the file names, so that a difference is the file's, not the
    recipe's.

    Args:
        model: The trained model, or the frozen one.
        flatbuffer: The file's path or bytes.
        data: Inputs `(rows, length)`, or texts, if the file takes text; they go to the file one by
            one. Keras then gets the ids of `vocabulary.encode`, or the bits of
            `text.ngrams.projection_bits`, so that what the file finds in a text is compared, too.
            For a file of several inputs, a dictionary of arrays.
        labels: Class of each row, to report accuracies; of files of one output.
        vocabulary: The model's, for a file that takes text.
        tolerance: Largest allowed difference of an output, absolute. `None`: 1e-4; any, if the
            recipe computes with rounded inputs.
        min_agreement: Smallest allowed share of rows with the same argmax; a tie counts as the
            same here, and is reported. `None`: 1; 0.98, if the recipe computes with rounded inputs.
        max_loss: Largest allowed loss of accuracy, from the model as it was trained to the file;
            0.01 is one point. `None`: any.
        signature: Of a file of several models, the name of this one.
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
    report = compare(
        model, flatbuffer, data, labels,
        vocabulary=vocabulary, signature=signature, batch_size=batch_size,
        trained=max_loss is not None, progress=progress,
    )  # fmt: skip
    report.check(tolerance, min_agreement, max_loss)
    return report


def compare(
    model: keras.Model,
    flatbuffer: bytes | str | Path,
    data: Data,
    labels: np.ndarray | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    signature: str | None = None,
    batch_size: int = 256,
    trained: bool = False,
    progress: bool = False,
) -> Report:
    """Measures what `verify` does, whatever the difference is.

    Args:
        model: This and the next as in `verify`.
        flatbuffer: The file.
        data: Inputs.
        labels: Class of each row.
        vocabulary: The model's.
        signature: Of a file of several models, the name of this one.
        batch_size: Rows that Keras predicts at once.
        progress: Shows a progress bar.
        trained: Whether to measure the accuracy of the model as it was trained, too, with tables
            in float32 and hard assignments.

    Raises: ValueError, if the shapes do not fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> report = compare(model, kerascompact.export.convert(model), np.array([[1, 2, 3, 4]]))
    >>> report.rows, report.largest_difference < 1e-5
    (1, True)
    """
    file = Interpreter(flatbuffer, signature=signature)
    given, asked = rows_of(data, file, vocabulary)
    if labels is not None and len(labels) != len(given):
        checks.fail("labels", f"one label for each of the {len(given)} rows", labels)
    stored = (file.metadata or {}).get("recipe")
    recipe = Recipe(**stored) if stored else RECIPES["float32"]
    found, seconds = of_file(file, given, progress)
    names = [*found]
    if labels is not None and len(names) != 1:
        checks.fail("labels", f"None for a file with the outputs {names}", labels)
    bits = "projection" in (file.text or {})
    with quiet(), shipped(model, recipe) as (frozen, _):
        frozen = over_bits(frozen)[0] if bits else frozen
        wanted = of_keras(frozen, asked, names, batch_size)
        shapes = [list(array.shape) for array in found.values()]
        if shapes != (expected := [list(array.shape) for array in wanted.values()]):
            raise ValueError(
                f"`flatbuffer` must give outputs of shape {str(expected)[1:-1]}, as the model "
                f"does. Received: outputs of shape {str(shapes)[1:-1]}."
            )
        # Keras rounds a row otherwise in a batch than alone; the phone sees it alone.
        for row in np.flatnonzero(_differ(found, wanted))[:1000]:
            for name, alone in of_keras(frozen, [asked[row]], names).items():
                wanted[name][row][: len(alone[0])] = alone[0]
    before = None
    if trained and labels is not None:
        with quiet(), shipped(model, RECIPES["float32"]) as (exact, _):
            exact = over_bits(exact)[0] if bits else exact
            before = _accuracy(of_keras(exact, asked, names, batch_size), labels)
    pairs = [(found[name].astype(np.float64), wanted[name]) for name in names]
    flat = [np.abs(got - expected).reshape(len(given), -1) for got, expected in pairs]
    difference, same = np.concatenate(flat, axis=1), ~_differ(found, wanted)
    return Report(
        rows=len(given),
        agreement=float(np.mean(same)),
        ties=int(np.count_nonzero(~same & (difference.max(axis=1) <= ROUNDING))),
        largest_difference=float(difference.max()),
        mean_difference=float(difference.mean()),
        file_bytes=len(file.data),
        microseconds=float(np.median(seconds) * 1e6),
        keras_accuracy=_accuracy(wanted, labels),
        file_accuracy=_accuracy(found, labels),
        outputs=found if len(names) > 1 else found[names[0]],
        worst_row=int(np.argmax(np.nan_to_num(difference, nan=np.inf).max(axis=1))),
        trained_accuracy=before,
        # A layer of tf_keras that was trained for quantization, whatever the recipe is.
        exact=recipe.exact and not any(_rounds(layer) for layer in model._flatten_layers()),
    )


def _rounds(layer: keras.layers.Layer) -> bool:
    return getattr(layer, "rounds_itself", False)


def _differ(one: Outputs, other: Outputs) -> np.ndarray:
    """Rows in which any argmax differs, `(rows,)`; a row may hold many, one per token."""
    differ = [one[name].argmax(axis=-1) != other[name].argmax(axis=-1) for name in one]
    return np.any([rows.reshape(len(rows), -1).any(axis=1) for rows in differ], axis=0)


def _accuracy(outputs: Outputs, labels: np.ndarray | None) -> float | None:
    if labels is None:
        return None
    (answers,) = outputs.values()
    return float(np.mean(np.argmax(answers, axis=-1) == labels))
