"""Text classifier that runs a `.tflite` file and its vocabulary, as an app does."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.core.answers import likely
from kerascompact.runtime import encoding, vocabulary_file
from kerascompact.runtime.batches import batches
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.runtime.mediapipe_vocabulary import mediapipe_vocabulary
from kerascompact.text import rules
from kerascompact.text.vocabulary import UNKNOWN, Vocabulary
from kerascompact.tflite import flatbuffer

OFF = 0.02  # by how much rounded probabilities may miss a sum of 1


class Prediction(NamedTuple):
    """Prediction for one text.

    Args:
        label: The most probable label.
        probability: Probability of this label.
        probabilities: Probabilities of all labels, in the order of `labels`.
        labels: Names of all labels.
        tokens: Tokens in the text.
        known: How many of the tokens that the model read are in the vocabulary; `None` if there is
            no list of words.
        notes: Remarks on what may have cost accuracy, such as a text that was cut.
        multi_label: Whether a text may have several labels or none, so that the probabilities are
            independent of each other.
    """

    label: str
    probability: float
    probabilities: np.ndarray
    labels: tuple[str, ...]
    tokens: int
    known: int | None
    notes: tuple[str, ...]
    multi_label: bool = False

    @property
    def answers(self) -> tuple[str, ...]:
        """The labels of the text: those with a probability >= 0.5 if it may have several."""
        if not self.multi_label:
            return (self.label,)
        return tuple(self.labels[place] for place in np.flatnonzero(likely(self.probabilities)))


class TextClassifier:
    """Classifies texts with a `.tflite` file; needs neither TensorFlow nor Keras.

    The text is split into tokens by the rules that the model was trained with, the tokens become
    ids, and the file turns these into probabilities. A file with text input does all of this
    itself and gets the bytes of the text.

    Args:
        file: Path or bytes of a file that `kerascompact.export.convert` wrote with a vocabulary or
            with text input.
        vocabulary: The `Vocabulary` that the model was trained with, or its path. Default:
            `vocabulary.txt` in the folder of the file; a file with text input, or for MediaPipe,
            needs none.
        num_threads: Threads that the runtime may use.
        signature: Name of the model to run, if the file has several. Default: the first.

    Shapes: a text -> probabilities `(classes,)`, see `Prediction`.
    Raises: ValueError, if the file is damaged, has no such signature, is not a text classifier of
        kerascompact, or was trained with another vocabulary; OSError, if a file cannot be read.

    Example:
    >>> from kerascompact import models, text
    >>> words = text.Vocabulary(["good", "bad"])
    >>> model = models.mean_classifier(keras.layers.Embedding(4, 2, mask_zero=True), 2)
    >>> file = kerascompact.export.convert(model, labels=["yes", "no"], vocabulary=words)
    >>> prediction = TextClassifier(file, words).predict("good or bad")
    >>> prediction.label in ("yes", "no"), prediction.tokens, prediction.known
    (True, 3, 2)
    """

    def __init__(
        self,
        file: bytes | str | os.PathLike[str],
        vocabulary: Vocabulary | str | os.PathLike[str] | None = None,
        num_threads: int = 1,
        signature: str | None = None,
    ) -> None:
        data = flatbuffer.content(file)
        path = None if isinstance(file, bytes) else Path(file)
        name = "The file" if path is None else str(path)
        try:
            self.interpreter = Interpreter(data, num_threads, signature)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
        facts = (self.interpreter.metadata or {}).get("vocabulary") or {}
        self.text = self.interpreter.text
        if not facts and self.text is None:
            raise ValueError(
                f"{name} must be one that kerascompact exported with its vocabulary. "
                "Received: a TFLite model without the checksum of a vocabulary."
            )
        self.vocabulary: Vocabulary | None = None
        if self.text is None or vocabulary is not None:
            if not facts:
                checks.fail("vocabulary", "None: the file has no list of words", vocabulary)
            if vocabulary is None and "mediapipe" in (self.interpreter.metadata or {}):
                vocabulary = mediapipe_vocabulary(data)
            self.vocabulary, source = _vocabulary(vocabulary, path)
            if self.vocabulary.sha256 != facts["sha256"]:
                raise ValueError(
                    f"{name} was trained with another vocabulary than {source}: "
                    f"{facts['size']} ids of sha256 {facts['sha256'][:12]}. "
                    f"Received: {len(self.vocabulary)} ids of sha256 {self.vocabulary.sha256[:12]}."
                )
        found = (self.text or facts)["rules"]
        # pieces are cut inside the file; words are counted as the rules nearest to BERT's cut them
        self.rules = rules.named(found if found in rules.RULES else "wordpunct")
        self._input, self._output, self.sequence_length, classes = _ports(self.interpreter, name)
        if self.text is not None:
            self.sequence_length = self.text["length"] or self.text["max_words"]
        padded, self._padding = self.sequence_length, 0
        if told := (self.interpreter.metadata or {}).get("mediapipe"):
            self.sequence_length = told["words"]
            self._padding = (padded or 0) - told["words"]
        self._batch_size = self.interpreter.batch_size or 1
        size = self.interpreter.vocabulary_size or 0
        fits = self.text is None and len(self.vocabulary or ()) <= size
        fits = fits and self.interpreter.inputs[self._input]["dtype"] == np.int32
        self._run: Callable[[np.ndarray], np.ndarray] = self._checked
        if fits:
            self._run = self.interpreter.run_fitting
        names = (self.interpreter.metadata or {}).get("labels") or map(str, range(classes))
        self.labels: tuple[str, ...] = tuple(names)
        # one output says of one label whether a text has it
        self.multi_label = classes == 1 or bool(
            (self.interpreter.metadata or {}).get("multi_label")
        )
        if len(self.labels) != classes:
            raise ValueError(f"{name} has {classes} outputs, but {len(self.labels)} labels.")

    def predict(self, text: str | bytes) -> Prediction:
        """Classifies one text.

        Args:
            text: A `str` or UTF-8 bytes. If the file has a fixed length, further tokens are cut.

        Returns: The label, its probability and notes, see `Prediction`.

        Raises: ValueError, if the text is not valid UTF-8 (with the position) or has no token.
        """
        one = self._encoded(text)
        if self._batch_size > 1:
            return self._predictions([one])[0]
        return self._prediction(one, self._run(one.numbers)[0])

    def predict_many(self, texts: Iterable[str | bytes]) -> list[Prediction]:
        """Classifies several texts in batches of the file's batch size.

        Args:
            texts: Texts as `predict` takes them.

        Returns: A `Prediction` for each text.

        Raises: ValueError, as for `predict`, with the index of the text.
        """
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            checks.fail("texts", "a list of str or UTF-8 bytes", texts)
        encoded = []
        for index, text in enumerate(texts):
            try:
                encoded.append(self._encoded(text))
            except ValueError as error:
                raise ValueError(f"texts[{index}]: {error}") from error
        return self._predictions(encoded)

    def _encoded(self, text: str | bytes) -> "_Encoded":
        text = encoding.decoded(text)
        notes: tuple[str, ...] = ()
        tokens = read = self.rules.tokens(text)
        if not tokens:
            empty = not text.strip(rules.WHITE_SPACE)
            cause = ": it is empty or white space only" if empty else f" under {self.rules.name!r}"
            raise ValueError(f"`text` has no token{cause}.")
        length, known = self.sequence_length, None
        if self.text is not None:
            data = text.encode()
            size = self.text["max_bytes"] or encoding.open_length(data)
            numbers, used = encoding.encode(data, size)
            if used < len(data):
                notes += (f"text cut to its first {used} of {len(data)} bytes",)
                read = self.rules.tokens(data[:used].decode("utf-8", "surrogateescape"))
        if length is not None and len(read) > length:
            notes += (f"text cut to its first {length} of {len(tokens)} tokens",)
            read = read[:length]
        if self.vocabulary is not None:
            ids = self.vocabulary.token_ids(read)
            known = len(ids) - ids.count(UNKNOWN)
            if not known:
                notes = ("no word of the text is in the vocabulary", *notes)
        if self.text is None:
            numbers = np.zeros((1, (length or len(ids)) + self._padding), np.int32)
            numbers[0, : len(ids)] = ids
        return _Encoded(numbers, len(tokens), known, notes)

    def _checked(self, numbers: np.ndarray) -> np.ndarray:
        return self.interpreter.run({self._input: numbers})[self._output]

    def _predictions(self, texts: list["_Encoded"]) -> list[Prediction]:
        if self._batch_size == 1:
            return [self._prediction(one, self._run(one.numbers)[0]) for one in texts]
        examples = [{self._input: one.numbers[0]} for one in texts]
        found: dict[int, np.ndarray] = {}
        for places, inputs in batches(examples, self._batch_size):
            found |= zip(places, self._run(inputs[self._input])[: len(places)], strict=True)
        return [self._prediction(one, found[place]) for place, one in enumerate(texts)]

    def _prediction(self, text: "_Encoded", probabilities: np.ndarray) -> Prediction:
        best, notes = int(probabilities.argmax()), text.notes
        total = 1.0 if self.multi_label else float(probabilities.sum())
        between = probabilities.min() >= 0 and probabilities.max() <= 1 + OFF
        if not between or abs(total - 1) > OFF:
            notes += ("the outputs are no probabilities: the model ends without a softmax",)
        return Prediction(
            self.labels[best],
            probabilities.item(best),
            probabilities,
            self.labels,
            text.tokens,
            text.known,
            notes,
            self.multi_label,
        )


class _Encoded(NamedTuple):
    """One text as the file's input, with the token counts and notes for its `Prediction`."""

    numbers: np.ndarray
    tokens: int
    known: int | None
    notes: tuple[str, ...]


def _vocabulary(
    vocabulary: Vocabulary | str | os.PathLike[str] | None, file: Path | None
) -> tuple[Vocabulary, str]:
    """The vocabulary and its name in errors."""
    if isinstance(vocabulary, Vocabulary):
        return vocabulary, repr(vocabulary)
    if vocabulary is None:
        if file is None:
            raise ValueError("`vocabulary` is required when the file is given as bytes.")
        vocabulary = file.parent / vocabulary_file.NAME
        if not vocabulary.is_file():
            raise ValueError(f"There is no {vocabulary}, and no other vocabulary is given.")
    if not isinstance(vocabulary, str | os.PathLike):
        checks.fail("vocabulary", "a Vocabulary or the path of one", vocabulary)
    return Vocabulary.load(vocabulary), str(vocabulary)


def _ports(file: Interpreter, name: str) -> tuple[str, str, int | None, int]:
    """Names of the input and the output, the fixed length or `None`, the number of classes."""
    ins = {key: value["shape_signature"] for key, value in file.inputs.items()}
    outs = {key: value["shape"] for key, value in file.outputs.items()}
    if [len(shape) for shape in (*ins.values(), *outs.values())] != [2, 2]:
        raise ValueError(
            f"{name} must have one input of ids, [1, length], or of text, and one output, "
            "[1, classes]; a file with an output for each word is for TextTagger. "
            f"Received: inputs {sorted(ins)} and outputs {sorted(outs)}."
        )
    ((input_name, ids),), ((output_name, classes),) = ins.items(), outs.items()
    return input_name, output_name, None if ids[1] == -1 else int(ids[1]), int(classes[1])
