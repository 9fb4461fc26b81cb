"""Verification on a data set: does the file predict what Keras measured?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers
from kerascompact.export.freezing import Frozen
from kerascompact.export.recipe import RECIPES, Recipe
from kerascompact.export.silence import quiet
from kerascompact.export.trace import input_structure
from kerascompact.export.verification.dataset_rows import Rows, rows_of
from kerascompact.export.verification.differences import accuracy, differ, difference
from kerascompact.export.verification.predictions import (
    Outputs,
    keep_worse,
    of_file,
    of_keras,
    predict_alone,
)
from kerascompact.export.verification.report import Report
from kerascompact.export.verification.trained import as_trained
from kerascompact.models.bit_input import with_bit_input
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text.vocabulary import Vocabulary

ANOTHER = 7  # rows of a run, beside one, of a file that takes any number

Data = np.ndarray | Sequence[Any] | Mapping[str, Any]


def verify(
    model: keras.Model | Frozen,
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

    Three pairs are compared, see `Report`:

    1. the file and the model as it ships: its embeddings frozen (hard assignments), its tables and
       kernels rounded by the recipe that the file names. Always held to the limits, so that a
       difference is the file's, not the recipe's;
    2. the trained model itself (hard assignments, float32) and its frozen copy before anything is
       rounded. Always held to the limits, so that an error of freezing is found under any recipe;
    3. the file and the trained model. Held to the limits if the recipe rounds nothing ("float32");
       else reported, and what it costs is bounded by `max_loss`.

    Keras predicts in batches, but a row in which two disagree alone, as the file does. A file that
    was converted for a number of rows gets batches of so many, the last one filled with its last
    row again. One of any number gets every row twice, alone and in batches of seven, and the answer
    that is farther from the frozen model counts.

    Args:
        model: The trained model, or what `freeze` made of it. Of a frozen copy, `Frozen.model`,
            freezing is not compared.
        flatbuffer: The file's path or bytes.
        data: Inputs `(rows, length)`, or texts, if the file takes text; they go to the file one by
            one. Keras then gets the ids of `vocabulary.encode`, or the bits of
            `text.ngrams.projection_bits`, so that what the file finds in a text is compared, too.
            For a file of several inputs, what `model.fit` takes: a list or tuple of arrays in the
            order of `model.inputs`, a dictionary of them by name, or nested as the model's inputs
            are. A list of texts always means texts.
        labels: Class of each row, to report accuracies; of files of one output.
        vocabulary: The model's, for a file that takes text.
        tolerance: Largest allowed difference of an output, absolute, for each pair that is held.
            `None`: 1e-4, which is 100 times what float32 sums in another order were seen to differ
            by; for the file, any, if the recipe computes with rounded inputs.
        min_agreement: Smallest allowed share of rows with the same argmax, for each pair that is
            held; a tie counts as the same here, and is reported. `None`: 1; for the file, 0.98, if
            the recipe computes with rounded inputs.
        max_loss: Largest allowed loss of accuracy, from the trained model to the file; 0.01 is one
            point. `None`: any.
        signature: Of a file of several models, the name of this one.
        batch_size: Rows that Keras predicts at once.
        progress: Shows a progress bar.

    Returns: A `Report`.

    Raises: ValueError, past a limit, naming the pair and its worst row; or if the shapes do not
        fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> file = kerascompact.export.convert(model)
    >>> verify(model, file, np.array([[1, 2, 3, 4], [8, 0, 0, 0]])).agreement
    1.0
    """
    report = compare(
        model, flatbuffer, data, labels,
        vocabulary=vocabulary, signature=signature, batch_size=batch_size, progress=progress,
    )  # fmt: skip
    return report.held_to(tolerance, min_agreement, max_loss).check()


def compare(
    model: keras.Model | Frozen,
    flatbuffer: bytes | str | Path,
    data: Data,
    labels: np.ndarray | None = None,
    *,
    vocabulary: Vocabulary | None = None,
    signature: str | None = None,
    batch_size: int = 256,
    progress: bool = False,
) -> Report:
    """Measures what `verify` does, whatever the differences are; `Report.check` judges them.

    Args:
        model: The trained model, or what `freeze` made of it.
        flatbuffer: The file's path or bytes.
        data: Inputs or texts.
        labels: Class of each row.
        vocabulary: The model's, for a file that takes text.
        signature: Of a file of several models, the name of this one.
        batch_size: Rows that Keras predicts at once.
        progress: Shows a progress bar.

    Raises: ValueError, if the shapes do not fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> report = compare(model, kerascompact.export.convert(model), np.array([[1, 2, 3, 4]]))
    >>> report.rows, report.largest_difference < 1e-5
    (1, True)
    """
    file = Interpreter(flatbuffer, signature=signature)
    trained_model = model.trained if isinstance(model, Frozen) else model
    structure = input_structure(trained_model)
    names = [] if structure is None else keras.tree.flatten(structure)
    given, asked = rows_of(data, file, vocabulary, names, structure)
    if labels is not None and len(labels) != len(given):
        checks.fail("labels", f"one label for each of the {len(given)} rows", labels)
    stored = (file.metadata or {}).get("recipe")
    recipe = Recipe(**stored) if stored else RECIPES["float32"]
    found, seconds = of_file(file, given, progress)
    if labels is not None and len(found) != 1:
        checks.fail("labels", f"None for a file with the outputs {[*found]}", labels)
    with_bits = "projection" in (file.text or {})
    in_keras = _InKeras(trained_model, asked, [*found], with_bits, batch_size)
    with quiet():
        ships = Frozen.of(model, recipe)
        frozen = in_keras.frozen(ships, found, of_file=True)
        if file.batch_size is None:
            keep_worse(found, of_file(file, given, progress, ANOTHER)[0], frozen)
        trained = in_keras.trained()
        unrounded = in_keras.frozen(ships.unrounded, trained) if recipe.rounds else frozen
        apart = differ(trained, unrounded)
        in_keras.trained_alone(trained, apart if recipe.rounds else apart | differ(trained, found))
    return Report(
        rows=len(given),
        frozen_file=difference(found, frozen),
        trained_frozen=difference(trained, unrounded),
        trained_file=difference(found, trained),
        file_bytes=len(file.data),
        microseconds=float(np.median(seconds) * 1e6),
        trained_accuracy=accuracy(trained, labels),
        keras_accuracy=accuracy(frozen, labels),
        file_accuracy=accuracy(found, labels),
        outputs=found if len(found) > 1 else next(iter(found.values())),
        rounds=recipe.rounds,
        # A layer of tf_keras that was trained for quantization, whatever the recipe is.
        exact=recipe.exact and not any(map(_rounds_itself, all_layers(trained_model))),
    )


class _InKeras(NamedTuple):
    """A model, and what it is asked."""

    model: keras.Model
    asked: Rows
    names: list[str]
    bits: bool
    batch_size: int

    def frozen(self, ships: Frozen, other: Outputs, of_file: bool = False) -> Outputs:
        """Outputs as the model ships; a row in which `other` disagrees is predicted alone."""
        with ships.shipped() as (model, _):
            model = with_bit_input(model) if self.bits else model
            outputs = of_keras(model, self.asked, self.names, self.batch_size)
            shapes, expected = ([[*a.shape] for a in side.values()] for side in (other, outputs))
            if shapes != expected:
                what = "flatbuffer" if of_file else "model"
                raise ValueError(
                    f"`{what}` must give outputs of shape {str(expected)[1:-1]}, as the frozen "
                    f"model does. Received: outputs of shape {str(shapes)[1:-1]}."
                )
            predict_alone(model, self.asked, outputs, differ(other, outputs))
        return outputs

    def trained(self) -> Outputs:
        """Outputs of the model as it was trained."""
        with as_trained(self.model, self.bits) as model:
            return of_keras(model, self.asked, self.names, self.batch_size)

    def trained_alone(self, outputs: Outputs, rows: np.ndarray) -> None:
        """Predicts some rows of `trained` alone."""
        with as_trained(self.model, self.bits) as model:
            predict_alone(model, self.asked, outputs, rows)


def _rounds_itself(layer: keras.layers.Layer) -> bool:
    return getattr(layer, "rounds_itself", False)
