"""Task of a search: its data and options, in a folder that all its processes read."""

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from kerascompact.core import files
from kerascompact.core.arrays import load_npz, save_npz
from kerascompact.search.corpus import Corpus

TASK, TEXTS, LABELS = "task.json", "texts.json.gz", "labels.npz"


@dataclass(frozen=True)
class Task:
    """What a search is about.

    Args:
        name: Name of the data.
        budgets: Bytes of each file, smallest first.
        label_names: Names of the classes.
        num_train: Number of texts of train; those of dev follow.
        metric: Metric of the dev score.
        seed: Seed of all that is drawn.
        distil: Whether teachers give soft labels.
        storage: Address of an Optuna storage, or "" for a journal in the folder.
        digest: First digits of the SHA-256 of texts, labels, their names, vectors and a teacher.
        used: Most rows that a trial trains on, and that the final training does.
        vectors: What pre-trained vectors there are, in a few words; "": none.
        dev_alone: Whether settings are compared on dev alone, which is never trained on.

    Example:
    >>> Task("mine", (65536,), ("a", "b"), 100, "accuracy", 0, True, "", "0a1b").study(65536)
    '0a1b accuracy 65536'
    """

    name: str
    budgets: tuple[int, ...]
    label_names: tuple[str, ...]
    num_train: int
    metric: str
    seed: int
    distil: bool
    storage: str
    digest: str
    used: tuple[int, int] = (2**31, 2**31)
    vectors: str = ""
    dev_alone: bool = False

    def study(self, budget: int) -> str:
        """Name of the Optuna study of a budget."""
        return f"{self.digest} {self.metric} {budget}"

    def save(self, folder: Path, texts: list[str], labels: np.ndarray) -> None:
        """Writes the task and its data."""
        text = json.dumps(texts, ensure_ascii=False).encode("utf-8", "surrogatepass")
        files.write_bytes(folder / TEXTS, gzip.compress(text, 1, mtime=0))
        save_npz(folder / LABELS, labels=labels)
        files.write_bytes(folder / TASK, (json.dumps(asdict(self), indent=2) + "\n").encode())

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Reads a task.

        Raises: ValueError, naming the file, if it is not a task; OSError.
        """
        path = folder / TASK
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
            lists = {name: tuple(found[name]) for name in ("budgets", "label_names", "used")}
            return cls(**{**found, **lists})
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} is not the task of a search: {error}") from error

    def corpus(self, folder: Path) -> Corpus:
        """Reads the data."""
        text = gzip.decompress((folder / TEXTS).read_bytes()).decode("utf-8", "surrogatepass")
        labels = load_npz(folder / LABELS)["labels"]
        return self.corpus_of(folder, json.loads(text), labels)

    def corpus_of(
        self, folder: Path, texts: list[str], labels: np.ndarray, more: Sequence[str] = ()
    ) -> Corpus:
        """The corpus of its texts; `more` are words that are known besides theirs."""
        names = self.label_names
        return Corpus(texts, labels, self.num_train, names, folder, self.used, more)


def digest_of(texts: list[str], labels: np.ndarray, num_train: int, *more: str) -> str:
    """A short fingerprint of the data, by which searches of several machines know each other.

    >>> digest_of(["a"], np.zeros(1, np.int32), 1)
    '07d9dccebf12'
    """
    whole = json.dumps([texts, np.asarray(labels).tolist(), num_train, *more])
    return files.sha256(whole.encode("utf-8", "surrogatepass"))[:12]
