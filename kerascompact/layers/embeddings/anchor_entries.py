"""First columns of a sparse transform in slots: random ones, and those that rows must have."""

from typing import Any, NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.layers.embeddings.anchor_sets import AnchorSets

CHUNK = 65_536  # rows at a time
DEFAULT = 16  # entries of a row


class Entries(NamedTuple):
    """Columns of the entries of `T`, and what is known of some entries.

    Args:
        columns: Column of each entry, `(V, s)`, different in a row; int16 up to 32,768 anchors,
            else int32.
        values: Values of all entries `(V, s)`, or `None`: an initializer draws them.
        one_hot: Places of the ones in rows of words that are anchors; the rest of these rows is 0.
    """

    columns: np.ndarray
    values: np.ndarray | None
    one_hot: np.ndarray


def first_entries(
    sets: AnchorSets,
    slots: list[int],
    input_dim: int,
    positive_pairs: np.ndarray | None = None,
    seed: int = 0,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> Entries:
    """Chooses the columns that rows begin with, at random but for positive pairs and anchors.

    Args:
        sets: Sets of anchors.
        slots: Number of entries of a row in each set.
        input_dim: Number of rows `V`.
        positive_pairs: Entries (row, column) `(n, 2)` that rows must have.
        seed: Seed of the random columns.
        start: Columns and values `(V, s)` to begin with in place of random columns.

    Raises: ValueError, if a row must have more entries in a set than there are slots.

    >>> first_entries(AnchorSets(9, 4, 2, None, None), [2], 4, np.array([[3, 7]])).columns.shape
    (4, 2)
    """
    random = np.random.default_rng(seed)
    kind = np.int16 if sets.total <= 2**15 else np.int32
    columns = np.empty((input_dim, sum(slots)), kind)
    values = None
    if start is None:
        places = np.cumsum([0, *slots]).tolist()
        for size, count, offset, place in zip(
            sets.sizes, slots, sets.offsets, places, strict=False
        ):
            _draw(random, columns[:, place : place + count], size, offset)
    else:
        columns[:], values = start[0], np.array(start[1], np.float32)
    own: dict[int, set[int]] = {}
    for ids, offset in zip(sets.ids, sets.offsets, strict=False):
        for place, row in enumerate(ids or []):
            own.setdefault(row, set()).add(offset + place)
    related: dict[int, set[int]] = {}
    for row, column in [] if positive_pairs is None else positive_pairs.tolist():
        related.setdefault(row, set()).add(column)
    one_hot = []
    for row in sorted({*own, *related}):
        mine, others = own.get(row, set()), related.get(row, set())
        row_values = None if values is None else values[row]
        where = _place(columns[row], row_values, mine | others, sets, slots)
        one_hot += [(row, where[column]) for column in sorted(mine)]
    return Entries(columns, values, _pairs(one_hot))


def _draw(random: np.random.Generator, columns: np.ndarray, size: int, offset: int) -> None:
    """Fills in different columns of a set for each row: `a + k b` modulo its size."""
    steps = np.flatnonzero(np.gcd(np.arange(1, size + 1), size) == 1) + 1
    for start in range(0, len(columns), CHUNK):
        part = columns[start : start + CHUNK]
        first = random.integers(0, size, (len(part), 1))
        step = random.choice(steps, (len(part), 1))
        part[:] = (first + step * np.arange(part.shape[1])) % size + offset


def _place(
    columns: np.ndarray,
    values: np.ndarray | None,
    wanted: set[int],
    sets: AnchorSets,
    slots: list[int],
) -> dict[int, int]:
    """Gives a row the columns that it must have, in place of others; returns their slots."""
    found: dict[int, int] = {}
    begin = 0
    for number, count in enumerate(slots):
        low, high = sets.offsets[number : number + 2]
        here = sorted(column for column in wanted if low <= column < high)
        if len(here) > count:
            checks.fail(
                "entries",
                f"at least {len(here)}, the positive pairs of a row with a set, itself included",
                count,
            )
        part = columns[begin : begin + count]
        kept = {int(column): slot for slot, column in enumerate(part) if int(column) in wanted}
        free = iter([slot for slot in range(count) if int(part[slot]) not in wanted][::-1])
        for column in here:
            slot = kept.get(column)
            if slot is None:
                slot = next(free)
                part[slot] = column
                if values is not None:
                    values[begin + slot] = 0
            found[column] = begin + slot
        begin += count
    return found


def _pairs(found: list[tuple[int, int]]) -> np.ndarray:
    return np.array(found, np.int64).reshape(-1, 2)


def slots_of(name: str, value: Any, sets: AnchorSets) -> list[int]:
    """The number of entries of a row in each set, from a number, a list, or `None`.

    >>> slots_of("entries", 3, AnchorSets([4, 5], 9, 2, None, None))
    [3, 3]
    """
    if value is None:
        return [min(DEFAULT, size) for size in sets.sizes]
    several = isinstance(value, list | tuple)
    if several and len(value) != len(sets.sizes):
        checks.fail(name, f"a number or a list of {len(sets.sizes)}, one for each set", value)
    every = list(value) if several else [value] * len(sets.sizes)
    return [
        checks.integer_in(name, one, 1, size) for one, size in zip(every, sets.sizes, strict=True)
    ]
