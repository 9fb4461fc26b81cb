"""Held-out rows: a part of a split, of each class in proportion."""

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Split


def hold_out(split: Split, count: int, seed: int = 0, balanced: bool = True) -> tuple[Split, Split]:
    """Takes `count` rows out of a split, for a development or a test set.

    Both parts keep the order of the rows. The same seed takes the same rows.

    Args:
        split: Split to take rows from. With several labels a row, its rarest label is its class.
        count: Number of rows to take.
        seed: Seed of the choice.
        balanced: Whether to take from each class in proportion to its size, rounded by largest
            remainder (the smaller label first among equals), and to leave at least one row of each:
            what a class cannot give, the others do, in proportion. `False`: take any rows.
    Returns: The remaining split, and the split taken. With several labels a row, a row that is the
        last with one of its labels goes back, so that the second may lack a few.
    Raises: ValueError, if `count` is below 1 or leaves too few rows.
    Example:
    >>> split = Split(list("abcdef"), np.array([0, 0, 0, 0, 1, 1], np.int32))
    >>> rest, held = hold_out(split, 3)
    >>> held.labels.tolist(), rest.labels.tolist()
    ([0, 0, 1], [0, 0, 1])
    """
    rows, strata = len(split.texts), classes_of(split.labels)
    classes, sizes = np.unique(strata, return_counts=True)
    spare = rows - (len(classes) if checks.boolean("balanced", balanced) else 1)
    if spare < 1:
        raise ValueError(
            f"`split` must have more rows than classes to hold some out. "
            f"Received: {rows} rows of {len(classes)} classes."
        )
    count = checks.integer_in("count", count, 1, spare)
    generator = np.random.default_rng(checks.integer_in("seed", seed, 0))
    held = np.zeros(rows, bool)
    if balanced:
        by_class = np.split(np.argsort(strata, kind="stable"), np.cumsum(sizes)[:-1])
        for of_class, quota in zip(by_class, _quotas(sizes, count), strict=True):
            held[generator.permutation(of_class)[:quota]] = True
        if split.labels.ndim == 2:
            _give_back(split.labels, held)
    else:
        held[generator.permutation(rows)[:count]] = True
    return take(split, ~held), take(split, held)


def classes_of(labels: np.ndarray) -> np.ndarray:
    """The class of each row, `(rows,)`: with several labels a row, the rarest, or -1 for none.

    >>> classes_of(np.array([[1, 0], [1, 1], [0, 0]], np.uint8)).tolist()
    [0, 1, -1]
    """
    if labels.ndim == 1:
        return labels
    rows, columns = np.nonzero(labels != 0)  # a column after the other would be slow
    order = np.argsort(np.bincount(columns, minlength=labels.shape[1]), kind="stable")
    rank, best = np.argsort(order), np.full(len(labels), labels.shape[1])
    np.minimum.at(best, rows, rank[columns])
    return np.append(order, -1)[best]


def take(split: Split, mask: np.ndarray) -> Split:
    """The rows of a split where `mask` is true, in their order.

    >>> take(Split(["a", "b"], np.array([0, 1], np.int32)), np.array([False, True])).texts
    ['b']
    """
    texts = [text for text, wanted in zip(split.texts, mask.tolist(), strict=True) if wanted]
    return Split(texts, split.labels[mask])


def _quotas(sizes: np.ndarray, count: int) -> np.ndarray:
    """Rows of each class: `min(c n, n - 1)` of `n`, with the `c` that gives `count`, rounded."""
    quotas, left = sizes - 1, np.ones(len(sizes), bool)
    while True:  # classes that cannot give their part leave it to the others
        missing = count - quotas[~left].sum()
        share = sizes * missing  # in units of 1 / total, so that all is exact
        total = sizes[left].sum()
        few = left & (share > (sizes - 1) * total)
        if not few.any():
            break
        left &= ~few
    quotas = np.where(left, share // max(total, 1), quotas)
    rest = np.where(left, share % max(total, 1), -1)
    quotas[np.argsort(-rest, kind="stable")[: count - quotas.sum()]] += 1
    return quotas


def _give_back(labels: np.ndarray, held: np.ndarray) -> None:
    """Takes a row of each label that has none left out of `held`, in place."""
    rows, columns = np.nonzero(labels != 0)
    left = np.bincount(columns[~held[rows]], minlength=labels.shape[1])
    for label in np.setdiff1d(columns, np.flatnonzero(left)):
        held[rows[np.argmax(columns == label)]] = False
