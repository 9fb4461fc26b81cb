"""Text tagger that runs a `.tflite` file with an output for each word, as an app does."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.runtime import encoding
from kerascompact.runtime.interpreter import Interpreter
from kerascompact.text import rules

SPANS = "spans"


class TaggedWord(NamedTuple):
    """A word of a text, and its label.

    Args:
        word: The word, written as in the text.
        label: The most probable label.
        probability: Probability of this label.
        start: Its first byte in the UTF-8 of the text.
        end: The byte after its last one.
    """

    word: str
    label: str
    probability: float
    start: int
    end: int


class Tagging(NamedTuple):
    """The words of one text.

    Args:
        words: The words with their labels, in their order.
        notes: What was cut, if anything.
    """

    words: tuple[TaggedWord, ...]
    notes: tuple[str, ...]


class TextTagger:
    """Labels each word of a text with a `.tflite` file; needs neither TensorFlow nor Keras.

    The file splits the text itself, and says where each word is.

    Args:
        file: Path or bytes of a file that `kerascompact.export.convert` wrote with text input, of a
            model with one output, for each word.
        num_threads: Threads that the runtime may use.
        signature: Name of the model to run, if the file has several. Default: the first.

    Shapes: a text -> a label for each of its words, see `Tagging`.
    Raises: ValueError, if the file is damaged, has no such signature, does not take text, or has
        other outputs; OSError, if it cannot be read.

    Example:
    >>> from kerascompact import models, text
    >>> words = text.Vocabulary(["good", "bad"])
    >>> model = models.tagger(keras.layers.Embedding(4, 2, mask_zero=True), 2)
    >>> file = kerascompact.export.convert(model, text=words, labels=["yes", "no"])
    >>> [(one.word, one.start) for one in TextTagger(file).predict("Good, bad").words]
    [('Good', 0), (',', 4), ('bad', 6)]
    """

    def __init__(
        self, file: bytes | str | Path, num_threads: int = 1, signature: str | None = None
    ) -> None:
        name = "The file" if isinstance(file, bytes) else str(file)
        self.interpreter = Interpreter(file, num_threads, signature)
        shapes = {key: value["shape"] for key, value in self.interpreter.outputs.items()}
        found = [key for key, shape in shapes.items() if key != SPANS and len(shape) == 3]
        text = self.interpreter.text
        if text is None or {SPANS, *found} != {*shapes} or len(found) != 1:
            raise ValueError(
                f"{name} must take text, and have one output for each word, [1, words, classes]. "
                f"Received: inputs {sorted(self.interpreter.inputs)} and outputs {sorted(shapes)}."
            )
        self.text = text
        (self._output,) = found
        classes = int(shapes[self._output][-1])
        labels = (self.interpreter.metadata or {}).get("labels") or map(str, range(classes))
        self.labels: tuple[str, ...] = tuple(labels)
        if len(self.labels) != classes:
            raise ValueError(f"{name} has {classes} classes, but {len(self.labels)} labels.")

    def predict(self, text: str | bytes) -> Tagging:
        """Labels the words of a text; a text without words has none.

        Args:
            text: A `str` or UTF-8 bytes. Further bytes or words than the file takes are cut.

        Returns: The words and notes, see `Tagging`.

        Raises: ValueError, if the text is not valid UTF-8, with the position.
        """
        text = encoding.decoded(text)
        data = text.encode()
        encoded, used = encoding.encode(data, self.text["max_bytes"])
        outputs = self.interpreter.run({self.text["input"]: encoded})
        words = []
        for (start, end), probabilities in zip(
            outputs[SPANS][0].tolist(), outputs[self._output][0], strict=True
        ):
            if end <= start:  # a place without a word
                break
            best = int(np.argmax(probabilities))
            # the bytes may be cut inside a character
            word = data[:used][start:end].decode("utf-8", "replace")
            words.append(
                TaggedWord(word, self.labels[best], float(probabilities[best]), start, end)
            )
        return Tagging(tuple(words), tuple(self._notes(text, used, len(words))))

    def _notes(self, text: str, used: int, words: int) -> list[str]:
        data, notes = text.encode(), []
        if used < len(data):
            notes.append(f"text cut to its first {used} of {len(data)} bytes")
        read = data[:used].decode("utf-8", "surrogateescape")
        most = self.text["length"] or self.text["max_words"]
        if words == most and words < len(rules.named(self.text["rules"]).tokens(read)):
            count = len(rules.named(self.text["rules"]).tokens(text))
            notes.append(f"text cut to its first {words} of {count} words")
        return notes
