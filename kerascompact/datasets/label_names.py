"""Problems of label names: the same label written in two ways, several labels in a cell."""

import unicodedata
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation

from kerascompact.datasets.base import Dataset

SEPARATORS = ("|", ";", ",")
FEW = 3  # labels that a sentence shows


def doubtful(dataset: Dataset) -> Iterator[str]:
    """Sentences about labels that are probably not what was meant.

    >>> from kerascompact.datasets import from_texts
    >>> data = from_texts(["so good", "so dear", "so slow"] * 9, ["Price", "price", "mood"] * 9)
    >>> print(*doubtful(data))
    Labels that may be the same, but are trained as different ones: 'Price' and 'price'.
    """
    names = dataset.label_names
    same = _alike(names)
    if same:
        shown = ", ".join(" and ".join(map(repr, group)) for group in same[:FEW])
        more = ", ..." if len(same) > FEW else ""
        yield f"Labels that may be the same, but are trained as different ones: {shown}{more}."
    if dataset.multi_label:
        splits = (dataset.train, dataset.dev, dataset.test)
        if all((split.labels.astype(bool).sum(1) == 1).all() for split in splits):
            yield (
                "Every text has exactly one label, though texts may have several: without a "
                "separator, or lists of labels, a model knows that one label is right."
            )
        return
    for separator in SEPARATORS:
        joined = [name for name in names if separator in name]
        parts = {part.strip() for name in names for part in name.split(separator)}
        if len(joined) > 1 and len(parts) < len(names):
            yield (
                f"{len(joined):,} of {len(names):,} labels look like several, such as "
                f"{joined[0]!r}. If texts may have several labels, give the separator "
                f"{separator!r} (--separator), or lists of labels."
            )
            return


def _alike(names: Sequence[str]) -> list[list[str]]:
    """Groups of labels that differ in capitals, spaces, the form of characters, or as numbers."""
    groups: dict[object, list[str]] = {}
    for name in names:
        text = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
        try:
            # A float would round the long numbers of an id; "1_12" is no number in a label.
            number = Decimal(text.replace("_", "x"))
        except InvalidOperation:
            number = Decimal("nan")
        key = number if number.is_finite() else text  # no NaN is equal to another
        groups.setdefault(key, []).append(name)
    return [group for group in groups.values() if len(group) > 1]
