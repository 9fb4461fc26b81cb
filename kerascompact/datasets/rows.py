"""Rows as they were read, labels as names: cleaned, split and numbered into a data set."""

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, DataWarning, Split
from kerascompact.datasets.splitting import classes_of, hold_out


class Rows(NamedTuple):
    """Texts and the names of their labels, and where each row stood, for messages.

    Args:
        texts: Texts, a list.
        labels: Names of the labels of each text, a tuple; without `several`, one or, if the label
            is missing, none.
        numbers: Number of each row in its source.
        source: Name of the source, such as a file's.
        unit: What `numbers` count, such as "line".
        several: Whether a text may have several labels or none.
    Example:
    >>> Rows(["so"], [("b",)], [2], "mine.csv", "line", False).where(0)
    'mine.csv, line 2'
    """

    texts: list[str]
    labels: list[tuple[str, ...]]
    numbers: Sequence[int]
    source: str
    unit: str
    several: bool

    def where(self, row: int) -> str:
        """Place of a row, for an error."""
        return f"{self.source}, {self.unit} {self.numbers[row]}"


def without_empty(rows: Rows) -> Rows:
    """Leaves out rows with an empty text or, if each should have one, no label, with a warning.

    Raises: ValueError, if these are more than half of the rows.
    """
    good = [bool(text) and not text.isspace() for text in rows.texts]
    if not rows.several:
        good = [here and bool(names) for here, names in zip(good, rows.labels, strict=True)]
    bad = len(good) - sum(good)
    if not bad:
        return rows
    found = (
        f"{rows.source}: {bad:,} of {len(good):,} rows have an empty text or label, the first in "
        f"{rows.unit} {rows.numbers[good.index(False)]}"
    )
    if 2 * bad > len(good):
        raise ValueError(f"{found}. That is more than half: are these the right columns?")
    warnings.warn(f"{found}; they are left out.", DataWarning, stacklevel=3)
    kept = [row for row, here in enumerate(good) if here]
    return rows._replace(
        texts=[rows.texts[row] for row in kept],
        labels=[rows.labels[row] for row in kept],
        numbers=[rows.numbers[row] for row in kept],
    )


def dataset_of(
    name: str, rows: Rows, dev: float | Rows, test: float | Rows, seed: int, about: str
) -> Dataset:
    """Numbers the labels and makes the three splits.

    Args:
        name: Name of the data set.
        rows: Rows without empty ones.
        dev: Share of `rows` held out as dev, or its own rows.
        test: Share of `rows` held out as test, 0 for none, or its own rows.
        seed: Seed of both choices.
        about: Where the data come from.
    Raises: ValueError, if there are fewer than two classes, a label has a line break or a tab,
        there are too few rows to hold some out, or dev or test have a label that `rows` lack.
    """
    label_names = sorted_labels({label for labels in rows.labels for label in labels})
    if len(label_names) < 2:
        raise ValueError(
            f"{rows.source}: expected labels of at least 2 classes. "
            f"Received: {len(label_names)} ({', '.join(map(repr, label_names))})."
        )
    for label in label_names:
        # Files of labels have one a line, and printed tables have columns.
        if {"\n", "\r", "\t"} & {*label}:
            raise ValueError(f"{rows.source}: the label {label!r} contains a line break or a tab.")
    rest = numbered(rows, label_names)
    counts = _counts(rows, rest, dev, test)
    held = {}
    for key, part in (("test", test), ("dev", dev)):
        if isinstance(part, Rows):
            held[key] = numbered(part, label_names)
        elif key in counts:
            spare = len(rest.texts) - len(np.unique(classes_of(rest.labels)))
            if spare < 1:  # with several labels a row, fewer rows may be of more classes
                found = f"{rows.source}: {len(rows.texts):,} rows of {len(label_names):,} labels"
                raise _too_few(found, [*counts])
            rest, held[key] = hold_out(rest, min(counts[key], spare), seed)
        else:
            held[key] = Split([], rest.labels[:0])
    return Dataset(name, rest, held["dev"], held["test"], label_names, about)


def _counts(rows: Rows, split: Split, dev: float | Rows, test: float | Rows) -> dict[str, int]:
    """How many rows to hold out; with many classes and few rows, fewer than asked for."""
    parts = {"dev": dev, "test": test}
    shares = {name: part for name, part in parts.items() if isinstance(part, float) and part}
    if sum(shares.values()) >= 1:
        checks.fail("dev", f"below {1 - shares['test']:g}, with `test` {shares['test']:g}", dev)
    total, classes = len(rows.texts), len(np.unique(classes_of(split.labels)))
    wanted = {name: max(1, round(part * total)) for name, part in shares.items()}
    spare = total - classes
    if sum(wanted.values()) <= spare:
        return wanted
    found = f"{rows.source}: {total:,} rows of {classes:,} classes"
    if spare < len(wanted):
        raise _too_few(found, [*wanted])
    fewer = {n: max(1, spare * count // sum(wanted.values())) for n, count in wanted.items()}
    held = " and ".join(f"{fewer[name]:,} of {wanted[name]:,} rows for {name}" for name in wanted)
    warnings.warn(
        f"{found}: held out are {held}, since train needs one of each class.",
        DataWarning,
        stacklevel=4,
    )
    return fewer


def _too_few(found: str, wanted: Sequence[str]) -> ValueError:
    return ValueError(
        f"{found} are too few to hold out any for {' and '.join(wanted)}: train needs one of "
        "each class. Give these rows of their own, add rows, or merge rare classes."
    )


def numbered(rows: Rows, label_names: Sequence[str], whose: str = "train") -> Split:
    """A split with label ids in place of names, see `Split.labels`.

    Args:
        rows: Rows without empty ones.
        label_names: Names of labels 0, 1, ...
        whose: What has these labels, for the error.
    Raises: ValueError, naming the row, if a label is not among `label_names`.

    >>> numbered(Rows(["so"], [("b",)], [2], "mine.csv", "line", False), ["a", "b"]).labels
    array([1], dtype=int32)
    """
    ids = {name: id for id, name in enumerate(label_names)}
    try:
        if not rows.several:
            found = np.fromiter((ids[name] for (name,) in rows.labels), np.int32, len(rows.labels))
            return Split(rows.texts, found)
        places = [(row, ids[name]) for row, names in enumerate(rows.labels) for name in names]
    except KeyError:
        row, name = next((r, n) for r, ns in enumerate(rows.labels) for n in ns if n not in ids)
        raise ValueError(
            f"{rows.where(row)}: label {name!r} does not occur in {whose}, whose labels are "
            f"{_shown(label_names)}."
        ) from None
    matrix = np.zeros((len(rows.labels), len(label_names)), np.uint8)
    matrix[tuple(np.array(places, np.int64).reshape(-1, 2).T)] = 1
    return Split(rows.texts, matrix)


def sorted_labels(names: Iterable[str]) -> tuple[str, ...]:
    """Label names in alphabetical order, or in order of value if all are whole numbers.

    >>> sorted_labels({"10", "9"}), sorted_labels({"b", "10", "9"})
    (('9', '10'), ('10', '9', 'b'))
    """
    names = [*names]
    if all(re.fullmatch("-?[0-9]{1,999}", name) for name in names):  # Python reads 4,300 digits
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def share(name: str, value: float) -> float:
    """A share of the rows that may be held out: dev in `(0, 0.9]`, test in `[0, 0.9]`.

    >>> share("dev", 0.1)
    0.1
    """
    if name == "test":
        return checks.number(name, value, at_least=0, up_to=0.9)
    return checks.number(name, value, above=0, up_to=0.9)


def _shown(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
