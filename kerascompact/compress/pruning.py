"""Pruning of a trained table: only large entries are stored."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.core import checks
from kerascompact.forms.base import Form
from kerascompact.forms.sparse_table import rows_with_zeros
from kerascompact.ops.magnitude import entries_left, largest_entries


class Pruning(Compressor):
    """Sets the smallest entries of a table to zero, and stores the others.

    `E[i, j] = T[i, j]` for the entries of the largest `|T[i, j]|` (`sqrt(n_i) |T[i, j]|`, if word
    `i` occurs `n_i` times), 0 for the others: no table with as many entries has a smaller
    squared error. `sparsity=0` keeps the table, such as one that `training.MagnitudePruning` has
    pruned.

    Args:
        sparsity: Share of the entries that become zeros, in `[0, 1)`.

    Storage: the smaller of all entries, `32 V d` bits, and the `n` non-zero ones, `40 n` bits
        (`48 n` if `d > 256`) and `9 V`; in either case without rows of zeros.
    Raises: ValueError, if `sparsity` is not in `[0, 1)`.

    >>> form = Pruning(sparsity=0.5).fit(np.array([[3.0, -4.0], [1.0, 0.0]]))
    >>> form(np.arange(2)).numpy().tolist()
    [[3.0, -4.0], [0.0, 0.0]]

    Reference: [Han et al., NeurIPS 2015](https://arxiv.org/abs/1506.02626), sec. 3. Differs: a
    share of the entries in place of a threshold; nothing is trained again.
    """

    def __init__(self, sparsity: float = 0.0) -> None:
        self.sparsity = checks.number("sparsity", sparsity, at_least=0, below=1)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> Form:
        if self.sparsity:
            weighted = table if counts is None else table * np.sqrt(counts)[:, None]
            kept = largest_entries(weighted, entries_left(table.size, self.sparsity))
            table = np.where(kept, table, np.float32(0))
        paper = 32 * int(np.count_nonzero(table))
        return rows_with_zeros(table, **{"paper_bits": paper, **form})
