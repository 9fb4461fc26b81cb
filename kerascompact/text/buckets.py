"""Texts of about one length together: no step is spent on padding that a mask would skip."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def length_batches(
    tokens: np.ndarray,
    bounds: Sequence[int] | np.ndarray,
    batch_size: int,
    order: Callable[[np.ndarray], Any] = np.asarray,
) -> list[tuple[np.ndarray, int]]:
    """The rows of each batch, and the bound that they fit under; the shortest rows first.

    What does not fill a batch moves on to the next longer bucket, so that every row is in one batch
    and at most one batch is smaller than the rest.

    Args:
        tokens: `(n,)`, tokens of each row, none of them above the last bound.
        bounds: Rising lengths.
        batch_size: Rows per batch.
        order: Puts the rows of a bucket in an order, as a generator's `permutation`.

    >>> for rows, length in length_batches(np.array([1, 3, 0, 1]), [1, 3], batch_size=2):
    ...     print(rows.tolist(), length)
    [0, 2] 1
    [3, 1] 3
    """
    bucket = np.searchsorted(bounds, tokens)
    batches, left = [], np.array([], int)
    for number, bound in enumerate(bounds):
        rows = order(np.concatenate([left, np.flatnonzero(bucket == number)]))
        full = len(rows) // batch_size * batch_size
        left = rows[full:]
        batches += [(part, int(bound)) for part in rows[:full].reshape(-1, batch_size)]
    if len(left):
        batches.append((left, int(bounds[-1])))
    return batches
