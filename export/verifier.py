"""Proves that the file predicts what Keras measured, on a whole data set."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.export import utf8
from kerascompact.export.freezing import shipped
from kerascompact.export.interpreter import Interpreter
from kerascompact.export.quiet import quiet
from kerascompact.export.recipe import RECIPES, Recipe
from kerascompact.export.text_in import over_bits
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import Vocabulary

# What float32 sums in another order may differ by after an LSTM of hundreds of steps.
ROUNDING = 1e-5

Rows = list[Any]  # arrays, one for each row


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
    data: np.ndarray | Sequence[str] | Sequence[bytes],
    labels: np.ndarray | None = None,
    *,
    vocabulary: Vocabulary | None = None,
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
        data: Inputs `(rows, length)`, or texts, if the file takes text; they go to the file one by
            one. Keras then gets the ids of `vocabulary.encode`, or the bits of
            `text.ngrams.projection_bits`, so that what the file finds in a text is compared, too.
        labels: Class of each row, to report accuracies.
        vocabulary: The model's, for a file that takes text.
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
    file = Interpreter(flatbuffer)
    given, asked = _rows(data) if file.text is None else _texts(data, file, vocabulary)
    if labels is not None and len(labels) != len(given):
        checks.fail("labels", f"one label for each of the {len(given)} rows", labels)
    answers = [name for name in file.outputs if file.text is None or name != "spans"]
    if len(file.inputs) != 1 or len(answers) != 1:
        checks.fail("flatbuffer", "a file with one input and one output", [*file.inputs])
    stored = (file.metadata or {}).get("recipe")
    recipe = Recipe(**stored) if stored else RECIPES["float32"]
    got, seconds = _run(file, given, answers[0], progress)
    with quiet(), shipped(model, recipe) as (frozen, _):
        frozen = over_bits(frozen)[0] if "projection" in (file.text or {}) else frozen
        expected = _predict(frozen, asked, batch_size)
        if got.shape != expected.shape:
            raise ValueError(
                f"`flatbuffer` must give outputs of shape {list(expected.shape)}, as the model "
                f"does. Received: outputs of shape {list(got.shape)}."
            )
        # Keras rounds a row otherwise in a batch than alone; the phone sees it alone.
        for row in np.flatnonzero(_differ(got, expected))[:1000]:
            alone = frozen.predict(asked[row][None], verbose=0)[0]
            expected[row][: len(alone)] = alone
    difference = np.abs(got.astype(np.float64) - expected)
    same = ~_differ(got, expected)
    ties = ~same & (difference.reshape(len(given), -1).max(axis=1) <= ROUNDING)
    report = Report(
        rows=len(given),
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
        worst = int(np.argmax(np.nan_to_num(difference.reshape(len(given), -1), nan=np.inf).max(1)))
        raise ValueError(
            f"The file does not predict what Keras does: {report}. Worst row: {worst}. "
            f"Allowed: difference {tolerance:g}, agreement {min_agreement:g}."
        )
    return report


def _differ(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Rows in which any argmax differs, `(rows,)`; a row may hold many, one per token."""
    differ = np.argmax(one, axis=-1) != np.argmax(other, axis=-1)
    return differ.reshape(len(one), -1).any(axis=1)


def _rows(data: Any) -> tuple[Rows, Rows]:
    data = np.asarray(data)
    if data.ndim < 2 or len(data) == 0:
        checks.fail("data", "an array (rows, length) with at least one row", data)
    return list(data), list(data)


def _texts(data: Any, file: Interpreter, vocabulary: Vocabulary | None) -> tuple[Rows, Rows]:
    """What the file gets, and what Keras gets: the bytes of texts, and the ids or bits of words."""
    facts, known = file.text or {}, (file.metadata or {}).get("vocabulary") or {}
    if "projection" not in facts and (
        not isinstance(vocabulary, Vocabulary) or vocabulary.sha256 != known.get("sha256")
    ):
        checks.fail("vocabulary", "the model's, since the file takes text", vocabulary)
    if isinstance(data, str | bytes) or not isinstance(data, Sequence) or len(data) == 0:
        checks.fail("data", "a list of at least one text, since the file takes text", data)
    given, asked = [], []
    for text in data:
        numbers, used = utf8.encode(text, facts["max_bytes"])
        given.append(numbers[0])
        whole = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        read = whole[:used].decode("utf-8", "surrogateescape")
        if vocabulary is None or "projection" in facts:
            asked.append(_bits(read, facts))
            continue
        ids = vocabulary.encode(read, facts["length"])
        asked.append(ids[: facts["max_words"]] if len(ids) else np.zeros(1, np.int32))
    return given, asked


def _bits(text: str, facts: dict[str, Any]) -> np.ndarray:
    """The bits of the words of a text, or of all together, as a text-in file finds them."""
    projection, together = Projection(**facts["projection"]), facts["together"]
    words = [word.encode("utf-8", "surrogateescape") for word in named(facts["rules"]).tokens(text)]
    words = words[: facts["length"] or facts["max_words"]]
    if together:
        return projection_bits(words, projection, together=True)
    bits = np.zeros((facts["length"] or max(1, len(words)), projection.num_bits), np.uint8)
    if words:
        bits[: len(words)] = projection_bits(words, projection)
    return bits


def _run(
    file: Interpreter, data: Rows, output_name: str, progress: bool
) -> tuple[np.ndarray, list[float]]:
    (input_name,) = file.inputs
    outputs, seconds = [], []
    for row in _tracked(data, progress):
        start = time.perf_counter()
        result = file.run({input_name: row[None]})
        seconds.append(time.perf_counter() - start)
        outputs.append(result[output_name][0])
    return _stacked(outputs), seconds


def _predict(model: keras.Model, data: Rows, batch_size: int) -> np.ndarray:
    """Keras' outputs, rows of one length at a time."""
    lengths = np.array([len(row) for row in data])
    outputs: Rows = [None] * len(data)
    for length in np.unique(lengths):
        rows = np.flatnonzero(lengths == length)
        batch = np.stack([data[row] for row in rows])
        for row, output in zip(
            rows, model.predict(batch, batch_size=batch_size, verbose=0), strict=True
        ):
            outputs[row] = output
    return _stacked(outputs)


def _stacked(outputs: Rows) -> np.ndarray:
    """Outputs of all rows; those of a shorter text, one for each word, end in zeros."""
    if outputs[0].ndim > 1:
        longest = max(map(len, outputs))
        outputs = [np.pad(o, [(0, longest - len(o)), *[(0, 0)] * (o.ndim - 1)]) for o in outputs]
    return np.stack(outputs)


def _tracked(data: Rows, progress: bool) -> Any:
    if not progress:
        return data
    from rich.progress import track

    return track(data, description="verify")


def _accuracy(outputs: np.ndarray, labels: np.ndarray | None) -> float | None:
    return None if labels is None else float(np.mean(np.argmax(outputs, axis=-1) == labels))
