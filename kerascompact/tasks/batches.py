"""Batches of texts of about one length: no step is spent on padding that the mask would skip."""

from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.text.buckets import length_batches


class LengthBatches(keras.utils.PyDataset):
    """Shuffled batches for `model.fit`, each cut to one of a few lengths.

    Rows are sorted into buckets by their number of tokens, see `length_batches`. Few shapes, so XLA
    compiles few programs.

    Args:
        ids: Padded ids `(rows, length)`, 0 after the last token.
        labels: `(rows,)`.
        batch_size: Rows per batch.
        num_buckets: Lengths at most; they are the quantiles of the rows' lengths.
        seed: Of the shuffle, which differs from epoch to epoch.

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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.batch_size = checks.integer_in("batch_size", batch_size, 1)
        self.ids, self.labels = np.asarray(ids), np.asarray(labels)
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

    def __len__(self) -> int:
        return len(self.batches)

    def __getitem__(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        rows, length = self.batches[index]
        return self.ids[rows, :length], self.labels[rows]
