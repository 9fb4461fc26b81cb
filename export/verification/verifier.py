"""Verifier: compares the predictions of a file and of Keras on a data set."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers, has_independent_outputs
from kerascompact.export.freezing import Frozen
from kerascompact.export.inputs import input_structure
from kerascompact.export.recipe import RECIPES, Recipe
from kerascompact.export.silence import quiet
from kerascompact.export.verification.differences import (
    accuracy,
    differ,
    difference,
    far,
    without_numbers,
)
from kerascompact.export.verification.examples import Examples, examples_of
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
from kerascompact.text.buckets import Buckets
from kerascompact.text.vocabulary import Vocabulary

ANOTHER = 7  # second batch size, besides 1, for a file with an open batch

Data = np.ndarray | Sequence[Any] | Mapping[str, Any]


def verify(
    model: keras.Model | Frozen,
    flatbuffer: bytes | str | Path,
    data: Data,
    labels: np.ndarray | None = None,
    *,
    vocabulary: Vocabulary | Buckets | None = None,
    tolerance: float | None = None,
    min_agreement: float | None = None,
    max_loss: float | None = None,
    signature: str | None = None,
    batch_size: int = 256,
    progress: bool = False,
) -> Report:
    """Compares Keras and the file on each example of `data`, and raises an error if they differ.

    `|file(x) - frozen(x)| <= tolerance`, for three pairs of models, see `Report`:

    1. The file and the frozen model, which has hard assignments, and tables and kernels rounded by
       the file's recipe. This pair always has limits, so a difference comes from the file and not
       from the recipe.
    2. The trained model (hard assignments, float32) and its frozen copy before rounding. This pair
       always has limits, so an error of freezing is found with any recipe.
    3. The file and the trained model. This pair has limits if the recipe rounds nothing
       ("float32"); else it is reported, and `max_loss` bounds its cost.

    Keras predicts in batches. An example that two models answer differently, or with numbers more
    than 1e-4 apart if the file rounds no inputs as it runs, is predicted again alone, as in the
    file. A file with a fixed batch size gets such batches, the last one filled up with its last
    example. A file with an open batch gets every example twice, alone and in batches of seven, and
    the answer that is farther from the frozen model counts.

    Args:
        model: Trained model, or a `Frozen`. With the frozen copy `Frozen.model`, freezing is not
            compared.
        flatbuffer: Path or bytes of the file.
        data: Inputs `(examples, length)`, or texts, if the file takes text. Texts go to the file
            one by one, and Keras gets the ids of `vocabulary.encode` or the bits of
            `text.ngrams.projection_bits`, so that finding the words is compared as well. For
            several inputs: a list or tuple of arrays in the order of `model.inputs`, a dictionary
            of arrays by name, or arrays nested as the model's inputs are.
        labels: Class of each example, or a matrix of zeros and ones, one-hot or, if an example may
            have several, sets, to report accuracies (for sets, shares of exactly right ones), for
            files with one output.
        vocabulary: Vocabulary of the model, for a file that takes text; not needed for buckets.
        tolerance: Largest allowed absolute difference of an output. Default: 1e-4, which is 100
            times the largest difference seen between float32 sums in another order; no limit for a
            file that computes with rounded inputs or that `tools.shrink` made.
        min_agreement: Smallest allowed share of examples with the same argmax (of several sigmoids,
            the same set of labels, unless `labels` are a class each; of one number that is no
            probability, closer than a twentieth of the largest); a tie counts as the same.
            Default: 1; 0.98 for a file that computes with rounded inputs or that `tools.shrink`
            made.
        max_loss: Largest allowed loss of accuracy from the trained model to the file; 0.01 is one
            point. Default: no limit.
        signature: Name of the model, if the file has several.
        batch_size: Largest number of examples that Keras predicts at once.
        progress: Whether to show a progress bar.

    Returns: A `Report`.

    Warns: UserWarning, if the trained model answers an example with NaN.

    Raises: ValueError, if a limit is exceeded, naming the pair and its worst example; or if shapes
        do not fit.

    Example:
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
    vocabulary: Vocabulary | Buckets | None = None,
    signature: str | None = None,
    batch_size: int = 256,
    progress: bool = False,
) -> Report:
    """Measures the differences that `verify` checks; `Report.check` checks them later.

    Args:
        model: Trained model, or a `Frozen`.
        flatbuffer: Path or bytes of the file.
        data: Inputs or texts, as for `verify`.
        labels: Class of each example, or a matrix of zeros and ones, to report accuracies.
        vocabulary: Vocabulary of the model, for a file that takes text; not needed for buckets.
        signature: Name of the model, if the file has several.
        batch_size: Largest number of examples that Keras predicts at once.
        progress: Whether to show a progress bar.

    Returns: A `Report`.

    Warns: UserWarning, if the trained model answers an example with NaN.

    Raises: ValueError, if shapes do not fit.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> report = compare(model, kerascompact.export.convert(model), np.array([[1, 2, 3, 4]]))
    >>> report.examples, report.largest_difference < 1e-5
    (1, True)
    """
    file = Interpreter(flatbuffer, signature=signature)
    if isinstance(model, Frozen):
        model.check_current()
    trained_model = model.trained if isinstance(model, Frozen) else model
    structure = input_structure(trained_model)
    names = [] if structure is None else keras.tree.flatten(structure)
    given, asked = examples_of(data, file, vocabulary, names, structure)
    if labels is not None and (np.ndim(labels) == 0 or len(labels) != len(given)):
        checks.fail("labels", f"one label for each of the {len(given)} examples", labels)
    stored = (file.metadata or {}).get("recipe")
    recipe = Recipe(**stored) if stored else RECIPES["float32"]
    found, seconds = of_file(file, given, progress)
    if labels is not None and len(found) != 1:
        checks.fail("labels", f"None for a file with the outputs {[*found]}", labels)
    with_bits = "projection" in (file.text or {})
    sets = bool((file.metadata or {}).get("multi_label"))
    if labels is None or np.shape(labels) == [*found.values()][0].shape:
        sets |= has_independent_outputs(trained_model)  # with a class each, the likeliest counts
    in_keras = _InKeras(trained_model, asked, [*found], with_bits, batch_size, sets)
    # A tf_keras layer that was trained for quantization rounds with any recipe.
    shrunk = "shrunk" in (file.metadata or {})  # what was rounded then, the frozen model lacks
    exact = recipe.exact and not shrunk and not any(map(_rounds_itself, all_layers(trained_model)))
    with quiet():
        ships = Frozen.of(model, recipe)
        frozen = in_keras.frozen(ships, found, exact, of_file=True)
        if file.batch_size is None:
            keep_worse(found, of_file(file, given, progress, ANOTHER)[0], frozen)
        trained = in_keras.trained()
        unrounded = in_keras.frozen(ships.unrounded, trained) if recipe.rounds else frozen
        apart = in_keras.apart(trained, unrounded)
        if not recipe.rounds:
            apart |= in_keras.apart(trained, found, exact)
        in_keras.trained_alone(trained, apart)
    undefined = without_numbers(trained)
    if undefined:
        warnings.warn(
            f"The trained model answers {undefined:,} of {len(given):,} examples with NaN, such as "
            "a mean over padding alone. Where the file does so too, they count as equal.",
            stacklevel=3,  # who called `verify`
        )
    return Report(
        examples=len(given),
        frozen_file=difference(found, frozen, sets),
        trained_frozen=difference(trained, unrounded, sets),
        trained_file=difference(found, trained, sets),
        file_bytes=len(file.data),
        microseconds=float(np.median(seconds) * 1e6),
        trained_accuracy=accuracy(trained, labels, sets),
        keras_accuracy=accuracy(frozen, labels, sets),
        file_accuracy=accuracy(found, labels, sets),
        outputs=found if len(found) > 1 else next(iter(found.values())),
        rounds=recipe.rounds or shrunk,
        exact=exact,
        exact_sets=labels is not None and sets and np.shape(labels) == [*found.values()][0].shape,
    )


class _InKeras(NamedTuple):
    """A trained model and the examples for it."""

    model: keras.Model
    asked: Examples
    names: list[str]
    bits: bool
    batch_size: int
    sets: bool

    def apart(self, one: Outputs, other: Outputs, exact: bool = True) -> np.ndarray:
        """Whether an example is to be predicted alone: its answers differ, or its numbers do."""
        answers = differ(one, other, self.sets)
        return answers | far(one, other) if exact else answers

    def frozen(
        self, ships: Frozen, other: Outputs, exact: bool = True, of_file: bool = False
    ) -> Outputs:
        """Outputs of the frozen model; examples in which `other` disagrees are predicted alone."""
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
            predict_alone(model, self.asked, outputs, self.apart(other, outputs, exact))
        return outputs

    def trained(self) -> Outputs:
        """Outputs of the trained model."""
        with as_trained(self.model, self.bits) as model:
            return of_keras(model, self.asked, self.names, self.batch_size)

    def trained_alone(self, outputs: Outputs, wanted: np.ndarray) -> None:
        """Predicts some examples again with the trained model, each alone."""
        with as_trained(self.model, self.bits) as model:
            predict_alone(model, self.asked, outputs, wanted)


def _rounds_itself(layer: keras.layers.Layer) -> bool:
    return getattr(layer, "rounds_itself", False)
