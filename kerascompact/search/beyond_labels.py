"""What a search learns from besides labelled texts: pre-trained vectors and a teacher's answers."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import keras
import numpy as np

from kerascompact.core import checks, files
from kerascompact.runtime.classifier import TextClassifier
from kerascompact.text.static_models import PACKAGES
from kerascompact.text.word_vectors import WordVectors
from kerascompact.training.distiller import Distiller

CHECKED = 20  # texts on which a teacher is compared with the one of the search that goes on
CLOSE = 0.05  # difference of two probabilities: batches and machines change the last digits
SOME_ROWS = 100  # of vectors, which are in their checksum
EXPECTED = "WordVectors, a path, the name of a package, or several of these"
Vectors: TypeAlias = WordVectors | str | os.PathLike[str]
Teacher: TypeAlias = (
    keras.Model | Callable[[list[str]], Any] | np.ndarray | TextClassifier | str | os.PathLike[str]
)


class Beyond(NamedTuple):
    """What a search learns from besides labelled texts.

    Args:
        vectors: Pre-trained vectors.
        teacher: A model that answers for texts, or its answers, as `search.text_classifier` takes.
        unlabelled: Texts without a label.
    """

    vectors: tuple[WordVectors, ...] = ()
    teacher: Teacher | None = None
    unlabelled: tuple[str, ...] = ()

    @property
    def is_more(self) -> bool:
        """Whether there is anything.

        >>> Beyond().is_more, Beyond(unlabelled=("a text",)).is_more
        (False, True)
        """
        return bool(self.vectors or self.unlabelled) or self.teacher is not None

    def facts(self) -> list[str]:
        """What tells two searches of the same texts apart: a checksum of the vectors, and whether
        there is a teacher, see `check_same_teacher`.

        >>> Beyond((WordVectors(np.eye(2), ["up", "down"]),)).facts()
        ['<WordVectors of 2 words, 2 numbers each> 88c9f2d9695f']
        """
        vectors = [f"{one!r} {_checksum(one)}" for one in self.vectors]
        return [*vectors, *(["teacher"] if self.teacher is not None else [])]


def _checksum(vectors: WordVectors) -> str:
    """First digits of the SHA-256 of all words and some rows."""
    count = len(vectors.vectors)
    rows = np.unique(np.linspace(0, count - 1, SOME_ROWS).astype(int))
    words = "\n".join(vectors.most_frequent(count)).encode("utf-8", "surrogatepass")
    return files.sha256(words + np.asarray(vectors.vectors[rows], "<f4").tobytes())[:12]


def vectors_of(value: Vectors | Sequence[Vectors] | None) -> tuple[WordVectors, ...]:
    """Pre-trained vectors from themselves, paths of their files, or names of packages.

    Args:
        value: One or several of them; as text with commas between.

    Raises: ValueError, if one is none of these; OSError.

    >>> vectors_of([WordVectors(np.eye(2), ["up", "down"])])
    (<WordVectors of 2 words, 2 numbers each>,)
    """
    if value is None:
        return ()
    if isinstance(value, str):
        value = value.split(",")
    if isinstance(value, WordVectors | os.PathLike):
        value = [value]
    if not isinstance(value, Sequence):
        checks.fail("vectors", EXPECTED, value)
    return tuple(_vectors_of(one) for one in value)


def _vectors_of(value: Vectors) -> WordVectors:
    if isinstance(value, WordVectors):
        return value
    if not isinstance(value, str | os.PathLike):
        checks.fail("vectors", EXPECTED, value)
    if isinstance(value, str) and value in PACKAGES:
        return WordVectors.installed(value)
    if not str(value) or not Path(value).exists():  # "" would be the folder one is in
        names = ", ".join(repr(name) for name in PACKAGES)
        checks.fail("vectors", f"a file or folder of vectors, or one of {names}", str(value))
    return WordVectors.load(value)


def answers_of(teacher: Teacher, texts: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """A teacher's probabilities for texts, `(texts, classes)` in the order of the labels.

    Args:
        teacher: A model that answers for texts, or its answers, as `search.text_classifier` takes.
        texts: The texts of train, of dev, and those without a label.
        labels: Names of the classes.

    Raises: ValueError, if they have another shape, are no probabilities, or if a file has other
        labels; OSError.
    """
    if isinstance(teacher, str | os.PathLike):
        teacher = TextClassifier(teacher)
    if isinstance(teacher, TextClassifier):
        found = _of_file(teacher, texts, labels)
    else:
        given: Any = list(texts)
        if isinstance(teacher, keras.Model):
            given = keras.ops.convert_to_tensor(given, "string")
        found = np.exp(Distiller().targets(teacher, given)[:, 1])
    wanted = len(texts), len(labels)
    if found.shape != wanted:
        checks.fail("teacher", f"probabilities of the shape {wanted} (texts, classes)", found.shape)
    totals = found.sum(axis=1)
    if (totals < 0.98).any():
        checks.fail("teacher", "probabilities whose sum is 1", float(totals.min()))
    return found / totals[:, None]


def is_answers(teacher: Teacher) -> bool:
    """Whether a teacher is answers, one for each text, not a model that gives them.

    >>> is_answers(np.eye(2)), is_answers("teacher.tflite")
    (True, False)
    """
    return not (callable(teacher) or isinstance(teacher, str | os.PathLike | TextClassifier))


def check_same_teacher(
    teacher: Teacher, kept: np.ndarray, texts: Sequence[str], labels: Sequence[str]
) -> None:
    """Compares some answers of a teacher with those that a search has kept.

    Args:
        teacher: A model that answers for texts, or its answers, as `search.text_classifier` takes.
        kept: What `answers_of` gave when the search began.
        texts: The texts of train, of dev, and those without a label.
        labels: Names of the classes.

    Raises: ValueError, if the answers are those of another teacher, or as for `answers_of`.
    """
    rows = np.arange(len(texts))
    if not is_answers(teacher):
        rows = np.unique(np.linspace(0, len(texts) - 1, CHECKED).astype(int))
    found = answers_of(teacher, [texts[row] for row in rows.tolist()], labels)
    apart = float(np.abs(found - kept[rows]).max())
    if apart > CLOSE:
        raise ValueError(
            "`teacher` must be the one that the search began with, whose answers are kept. "
            f"Received: one whose probabilities differ by up to {apart:.2f} on {len(rows):,} texts."
        )


def _of_file(classifier: TextClassifier, texts: Sequence[str], labels: Sequence[str]) -> np.ndarray:
    """Answers of a file; what has no token says nothing."""
    if set(classifier.labels) != set(labels):
        checks.fail("teacher", f"a file with the labels {sorted(labels)}", classifier.labels)
    if classifier.multi_label:
        checks.fail("teacher", "a file of one label a text", "a file of several")
    order = [classifier.labels.index(label) for label in labels]
    found = np.full((len(texts), len(labels)), 1 / len(labels), np.float32)
    read = [row for row, text in enumerate(texts) if classifier.rules.tokens(text)]
    for row, one in zip(read, classifier.predict_many([texts[row] for row in read]), strict=True):
        found[row] = one.probabilities[order]
    return found
