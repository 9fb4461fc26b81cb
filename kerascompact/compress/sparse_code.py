"""Sparse code: rare words as sparse combinations of the frequent ones."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.compress.nearest_anchors import form_of
from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.forms.sparse import SparseForm
from kerascompact.ops.kmeans import ROWS


class SparseCode(Compressor):
    """Stores frequent words unchanged, and the others as sparse combinations of them.

    For a base `B: (b, d)` of the `b` most frequent words' vectors, every other word gets
    `x = argmin_{x >= 0} ||e - x B||^2 / 2 + alpha ||x||_1 + beta (sum x - 1)^2 / 2`,
    found by accelerated proximal gradient steps, with vectors in units of their mean length.

    Args:
        num_base: Number of base words `b`, `2 <= b <= V`; the paper uses 8,000.
        l1_weight: `alpha`, weight of the sum of the entries; the larger, the fewer entries.
        sum_to_one_weight: `beta`, weight of the squared difference of that sum from 1.
        iterations: Number of gradient steps.
        base_ids: Ids of the base words. Default: those of the largest counts; without counts the
            first ids, which are the most frequent words of a `Vocabulary`.

    Storage: for `n` entries `32 n` bits, `16 n` for their columns (`8 n` up to 256 base words),
        `9 V` for the rows and `32 b d`; a base word is an entry. The paper counts `32 (n + b d)`.
    Raises: ValueError, if there are fewer words than base words, or an argument is wrong;
        ImportError, without SciPy (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0.0, 2.0], [2.0, 0.0], [1.0, 1.0]])
    >>> form = SparseCode(num_base=2, l1_weight=1e-4).fit(table)
    >>> form(np.arange(3)).numpy().round(2).tolist()
    [[0.0, 2.0], [2.0, 0.0], [1.0, 1.0]]

    Reference: [Chen et al., ACL 2016](https://arxiv.org/abs/1610.03950), sec. 3.1, eq. 3.
    Differs: exact zeros by proximal steps, weights that are never negative and a square where the
    paper has penalties |sum x - 1| and max(0, -x) and subgradients; base words are not trained
    again with the codes.
    """

    def __init__(
        self,
        num_base: int = 1000,
        l1_weight: float = 0.05,
        sum_to_one_weight: float = 0.1,
        iterations: int = 200,
        base_ids: Any = None,
    ) -> None:
        self.base_ids = None
        if base_ids is not None:
            self.base_ids = np.unique(base_ids)
            num_base = len(self.base_ids)
        self.num_base = checks.integer_in("num_base", num_base, 2, 2**15)
        self.l1_weight = checks.number("l1_weight", l1_weight, above=0)
        self.sum_to_one_weight = checks.number("sum_to_one_weight", sum_to_one_weight, at_least=0)
        self.iterations = checks.integer_in("iterations", iterations, 1)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> SparseForm:
        checks.integer_in("num_base", self.num_base, 2, len(table))
        ids = self._base(len(table), counts)
        sparse = require("scipy.sparse", "compress")
        base, unit = table[ids], np.sqrt(np.mean(np.sum(np.square(table, dtype=np.float64), 1)))
        parts = []
        for start in range(0, len(table), ROWS):
            rows = table[start : start + ROWS] / max(unit, np.finfo(np.float32).tiny)
            codes = self._codes(rows, base / max(unit, np.finfo(np.float32).tiny))
            own = ids[(ids >= start) & (ids < start + ROWS)]
            codes[own - start] = 0
            codes[own - start, np.searchsorted(ids, own)] = 1
            parts.append(sparse.csr_matrix(codes))
        return form_of(sparse.vstack(parts, format="csr"), base, **form)

    def _base(self, rows: int, counts: np.ndarray | None) -> np.ndarray:
        if self.base_ids is not None:
            return checks.ids_below("base_ids", self.base_ids, rows)
        if counts is None:
            return np.arange(self.num_base)
        return np.sort(np.argsort(-counts, kind="stable")[: self.num_base])

    def _codes(self, points: np.ndarray, base: np.ndarray) -> np.ndarray:
        """The sparse `x` of every point, `(n, b)`."""
        gram = base @ base.T + np.float32(self.sum_to_one_weight)
        right = points @ base.T + np.float32(self.sum_to_one_weight - self.l1_weight)
        step = 1 / _largest_eigenvalue(gram)
        codes = ahead = np.zeros_like(right)
        momentum = 1.0
        for _ in range(self.iterations):
            before, codes = codes, np.maximum(ahead - step * (ahead @ gram - right), 0)
            following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            ahead = codes + np.float32((momentum - 1) / following) * (codes - before)
            momentum = following
        return codes


def _largest_eigenvalue(matrix: np.ndarray) -> np.float32:
    """An upper bound of the largest eigenvalue of a symmetric matrix, by power iterations."""
    tiny = np.finfo(np.float32).tiny
    vector = np.random.default_rng(0).random(len(matrix), np.float32) + np.float32(0.1)
    for _ in range(100):
        vector = matrix @ (vector / max(np.linalg.norm(vector), tiny))
    return np.float32(max(1.02 * np.linalg.norm(vector), tiny))
