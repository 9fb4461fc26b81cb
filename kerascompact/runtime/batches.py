"""Batches of one shape from the rows of a data set."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np


def batches(
    rows: Sequence[dict[str, Any]], size: int = 1
) -> Iterator[tuple[list[int], dict[str, np.ndarray]]]:
    """Puts rows of equal shapes together, as a file of a fixed batch takes them.

    Args:
        rows: An array for each input, without the batch.
        size: Rows of a batch. Where the last of a shape lacks some, it has its last row again.

    Yields: The places of the rows in `rows`, and the batch.

    >>> rows = [{"ids": np.array(ids)} for ids in ([1, 2], [3], [4, 5], [6, 7])]
    >>> [(places, batch["ids"].tolist()) for places, batch in batches(rows, 2)]
    [([0, 2], [[1, 2], [4, 5]]), ([3], [[6, 7], [6, 7]]), ([1], [[3], [3]])]
    """
    groups: dict[Any, list[int]] = {}  # by their shapes
    for place, row in enumerate(rows):
        shapes = tuple(np.shape(array) for array in row.values())
        # A batch of one row needs no other of its shape: such rows keep their order.
        groups.setdefault(shapes if size > 1 else place, []).append(place)
    for group in groups.values():
        for start in range(0, len(group), size):
            places = group[start : start + size]
            filled = places + places[-1:] * (size - len(places))
            names = rows[places[0]]
            yield places, {name: np.stack([rows[one][name] for one in filled]) for name in names}
