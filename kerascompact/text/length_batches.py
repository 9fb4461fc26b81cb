"""Batches of texts of similar length, so that few steps are spent on padding."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from kerascompact.core import checks


def length_batches(
    tokens: np.ndarray,
    bounds: Sequence[int] | np.ndarray,
    batch_size: int,
    order: Callable[[np.ndarray], Any] = np.asarray,
) -> list[tuple[np.ndarray, int]]:
    """Groups rows of similar length into batches, the shortest rows first.

    Rows that do not fill a batch move on to the next longer bucket, so that every row is in one
    batch and at most one batch is smaller than the rest.

    Args:
        tokens: Number of tokens of each row, `(n,)`, none above the last bound.
        bounds: Lengths of the buckets, rising.
        batch_size: Number of rows in a batch.
        order: Function that orders the rows of a bucket, such as a generator's `permutation`.

    Returns: For each batch its rows and the bound that they fit under.

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


class LengthBatches(keras.utils.PyDataset):
    """Shuffled batches for `model.fit`, each cut to one of a few lengths.

    Rows are sorted into buckets by their number of tokens (`length_batches`). There are few shapes,
    so XLA compiles few programs.

    Args:
        ids: Padded ids `(rows, sequence_length)`, 0 after the last token.
        labels: Labels of the rows, `(rows, ...)`.
        batch_size: Number of rows in a batch.
        num_buckets: Largest number of lengths; they are quantiles of the rows' lengths.
        seed: Seed of the shuffle, which differs from epoch to epoch.
        per_token: Whether labels are `(rows, sequence_length, ...)`, and are cut as ids are.

    Shapes: a batch is ids `(batch, length)` and labels `(batch, ...)`.
    Raises: ValueError, if `batch_size` is not an integer >= 1, or labels of tokens do not fit ids.

    >>> batches = LengthBatches(np.array([[1, 0, 0], [1, 2, 3], [4, 0, 0]]), np.arange(3), 2)
    >>> sorted(ids.shape for ids, _ in (batches[0], batches[1]))
    [(1, 3), (2, 1)]
    """

    def __init__(
        self,
        ids: np.ndarray,
        labels: np.ndarray,
        batch_size: int,
        num_buckets: int = 6,
        seed: int = 0,
        per_token: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.batch_size = checks.integer_in("batch_size", batch_size, 1)
        self.ids, self.labels = np.asarray(ids), np.asarray(labels)
        self.per_token = checks.boolean("per_token", per_token)
        if per_token and self.labels.shape[:2] != self.ids.shape:
            checks.fail("labels", f"of shape {self.ids.shape}, as the ids", self.labels.shape)
        self.random = np.random.default_rng(seed)
        self.tokens = np.maximum(np.count_nonzero(self.ids, axis=1), 1)
        steps = np.linspace(0, 1, num_buckets + 1)[1:]
        self.lengths = np.unique(np.quantile(self.tokens, steps, method="higher").astype(int))
        self.on_epoch_end()

    def on_epoch_end(self) -> None:
        order = self.random.permutation
        batches = length_batches(self.tokens, self.lengths, self.batch_size, order)
        self.batches = [batches[i] for i in order(len(batches))]
        # Keras reads off the first two batches which axes vary: let them differ in length.
        for place, (_, length) in enumerate(self.batches):
            if length != self.batches[0][1]:
                self.batches[1], self.batches[place] = self.batches[place], self.batches[1]
                break

    def close(self) -> None:
        """Lets go of ids and labels: TensorFlow keeps what has fed a `fit` until the process ends.

        >>> batches = LengthBatches(np.array([[1, 0], [1, 2]]), np.arange(2), 2)
        >>> batches.close()
        >>> len(batches), batches.ids.size
        (0, 0)
        """
        self.ids, self.labels = self.ids[:0].copy(), self.labels[:0].copy()
        self.tokens, self.batches = self.tokens[:0].copy(), []

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rows, length = self.batches[index]
        labels = self.labels[rows, :length] if self.per_token else self.labels[rows]
        return self.ids[rows, :length], labels
