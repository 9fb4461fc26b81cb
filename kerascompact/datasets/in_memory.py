"""A data set from lists of texts and labels."""

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset
from kerascompact.datasets.rows import Rows, dataset_of, share, without_empty
from kerascompact.text import inputs

LISTS = (list, tuple, set, frozenset)
NOT_A_MATRIX = "each text's label, or the list of its labels' names; not rows of 0 and 1"
Examples = tuple[Sequence[str], Sequence[Any]]


def from_texts(
    texts: Sequence[str],
    labels: Sequence[Any],
    dev: float | Examples = 0.1,
    test: float | Examples | None = None,
    seed: int = 0,
    name: str = "texts",
) -> Dataset:
    """Makes a data set of texts and labels in memory, split of each class in proportion.

    A row whose text is empty or `None`, or whose label is, is left out with a `DataWarning`. A list
    of labels may be empty: that text has none of the labels.

    Args:
        texts: The texts.
        labels: Label of each text, a string or an integer; or lists of these, for texts that may
            have several labels or none. Label ids are in alphabetical order, or in order of value
            if all labels are whole numbers.
        dev: Share of the rows held out as dev, or its own texts and labels.
        test: Share of the rows held out as test, or its own texts and labels. `None`: no test.
        seed: Seed of both choices.
        name: Name of the data set.
    Returns: The data set.
    Raises: ValueError, if texts and labels do not have the same length, one is of another type,
        labels are rows of 0 and 1, more than half of the rows are empty, there are fewer than two
        classes, too few rows to hold some out, or a label in dev or test that train does not have.
    Example:
    >>> data = from_texts(["turn it up", "turn it down"] * 10, ["louder", "softer"] * 10)
    >>> len(data.train.texts), len(data.dev.texts), len(data.test.texts), data.label_names
    (18, 2, 0, ('louder', 'softer'))
    >>> data = from_texts(["so good", "so dear"] * 10, [["quality"], ["price", "mood"]] * 10)
    >>> data.multi_label, data.label_names, data.dev.labels.tolist()
    (True, ('mood', 'price', 'quality'), [[0, 0, 1], [1, 1, 0]])

    Differs: a class with too few rows for its share stays in train, which has every class; dev and
    test may then lack it.
    """
    rows = _rows(texts, labels, "texts", "labels")
    own_dev = _part("dev", dev, rows.several)
    own_test = _part("test", 0.0 if test is None else test, rows.several)
    return dataset_of(name, rows, own_dev, own_test, seed, f"{name}: {len(rows.texts)} rows.")


def _part(key: str, value: float | Examples, several: bool) -> float | Rows:
    """A share, or the rows of dev or test."""
    if not isinstance(value, tuple) or len(value) != 2:
        return share(key, value)
    texts, labels = value
    return _rows(texts, labels, f"{key}[0]", f"{key}[1]", several)


def _rows(
    texts: Any, labels: Any, text_name: str, label_name: str, several: bool | None = None
) -> Rows:
    texts, labels = _listed(text_name, texts), _listed(label_name, labels)
    if len(texts) != len(labels):
        raise ValueError(
            f"`{text_name}` and `{label_name}` must be of the same length. "
            f"Received: {len(texts)} texts and {len(labels)} labels."
        )
    if several is None:
        several = any(isinstance(label, LISTS) for label in labels)
        if several and _are_indicators(labels):
            checks.fail(label_name, NOT_A_MATRIX, labels[:3])
    read = [_text(text_name, row, text) for row, text in enumerate(texts)]
    inputs.unicode(text_name, read)
    names = [_names(label_name, row, label, several) for row, label in enumerate(labels)]
    inputs.unicode(label_name, ["".join(one) for one in names])
    if several:  # no list is not an empty one: the row is left out, as one without text
        read = ["" if _is_missing(label) else one for one, label in zip(read, labels, strict=True)]
    rows = Rows(read, names, range(len(read)), f"`{text_name}`", "row", several)
    return without_empty(rows)


def _listed(name: str, values: Any) -> list[Any]:
    flat = not isinstance(values, str | bytes | dict) and isinstance(values, Iterable)
    if not flat or getattr(values, "ndim", 1) != 1:
        checks.fail(name, NOT_A_MATRIX if flat and name == "labels" else "a list", values)
    found = values.tolist() if isinstance(values, np.ndarray) else list(values)
    return found if found else checks.fail(name, "a list that is not empty", values)


def _are_indicators(labels: list[Any]) -> bool:
    """Whether these are the rows of a matrix of 0 and 1, which would be read as two labels."""
    rows = [label for label in labels if isinstance(label, list | tuple)]
    if len(rows) < len(labels) or len(rows[0]) < 2 or len({len(row) for row in rows}) > 1:
        return False
    return all(isinstance(one, Real) and one in (0, 1) for row in rows for one in row)


def _text(name: str, row: int, text: Any) -> str:
    if isinstance(text, str):
        return text
    return "" if _is_missing(text) else checks.fail(f"{name}[{row}]", "a str", text)


def _names(name: str, row: int, label: Any, several: bool) -> tuple[str, ...]:
    """Names of the labels of a text, each once; none if the label is missing."""
    if not several:
        found = _name(name, row, label)
        return (found,) if found else ()
    if not isinstance(label, LISTS) and _is_missing(label):
        return ()
    if not isinstance(label, LISTS):
        checks.fail(f"{name}[{row}]", "a list of labels, as others are", label)
    return tuple(dict.fromkeys(filter(None, (_name(name, row, one) for one in label))))


def _name(name: str, row: int, label: Any) -> str:
    if isinstance(label, str):
        return label.strip()
    if _is_missing(label):
        return ""
    whole = isinstance(label, Integral | np.bool_) or (
        isinstance(label, Real) and float(label).is_integer()  # as tables with gaps have them
    )
    if not whole:
        checks.fail(f"{name}[{row}]", "a string or an integer", label)
    return str(label if isinstance(label, bool | np.bool_) else int(label))


def _is_missing(value: Any) -> bool:
    if isinstance(value, Real):
        return bool(value != value)  # NaN
    return value is None or type(value).__name__ in ("NAType", "NaTType")  # of pandas
