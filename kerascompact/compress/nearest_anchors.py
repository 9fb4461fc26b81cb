"""Sparse hashing after training (Post-SH): each vector as a mix of its nearest anchors."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.forms.sparse import SparseForm
from kerascompact.ops.kmeans import ROWS, kmeans
from kerascompact.ops.nearest import least_squares_on, neighbors

WEIGHTS = ("least_squares", "kernel")


class NearestAnchors(Compressor):
    """Stores each word as a combination of the `s` nearest of `|A|` anchors.

    `E[i] ~ sum_{k in N(i)} T[i, k] A[k]`, `A` the centroids of k-means over the table's rows and
    `N(i)` the `s` of them nearest to row `i`.

    Args:
        num_anchors: Number of anchors `|A|`, `2 <= |A| <= V`.
        num_neighbors: Number of anchors `s` of a word, `1 <= s <= |A|`; the paper uses 10 with 500
            anchors and 20 with 1,000.
        weights: Weights of the anchors: "least_squares", with the least error, or "kernel", as in
            anchor hashing, `exp(-||E[i] - A[k]||^2 / t)` divided by their sum, `t` the mean of
            these distances over all words and their neighbors.
        seed: Seed of the first centroids.
        max_points: Largest number of rows that k-means learns from.

    Storage: for `n = V s` entries `32 n` bits, `16 n` for their columns (`8 n` up to 256 anchors),
        `9 V` for the rows and `32 |A| d`; the paper counts `32 (V s + |A| d)`.
    Raises: ValueError, if there are fewer words than anchors, or an argument is wrong; ImportError,
        without scikit-learn (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]])
    >>> form = NearestAnchors(num_anchors=2, num_neighbors=1).fit(table)
    >>> form(np.arange(4)).numpy().round(4).tolist()
    [[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]]

    Reference: [Guo et al., TIP 2017](https://doi.org/10.1109/TIP.2017.2652730), eq. 8 and 9, as the
    baseline of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 4.2, E.2.
    Differs: the default weights are those of the least error; anchors are not optimized for codes.
    """

    def __init__(
        self,
        num_anchors: int = 500,
        num_neighbors: int = 10,
        weights: str = "least_squares",
        seed: int = 0,
        max_points: int = 65_536,
    ) -> None:
        self.num_anchors = checks.integer_in("num_anchors", num_anchors, 2, 2**15)
        self.num_neighbors = checks.integer_in("num_neighbors", num_neighbors, 1, self.num_anchors)
        self.weights = checks.choice("weights", weights, WEIGHTS)
        self.seed = checks.integer_in("seed", seed, 0)
        self.max_points = checks.integer_in("max_points", max_points, 2)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> SparseForm:
        checks.integer_in("num_anchors", self.num_anchors, 2, len(table))
        table, unit = in_units(table)
        _, anchors = kmeans(
            table, self.num_anchors, counts, seed=self.seed, max_points=self.max_points
        )
        near = [neighbors(table[rows], anchors, self.num_neighbors) for rows in _parts(table)]
        distances = np.concatenate([found[1] for found in near])
        width = max(float(distances.mean()), np.finfo(np.float32).tiny)
        values = np.empty(distances.shape, np.float32)
        for rows, (columns, squares) in zip(_parts(table), near, strict=True):
            if self.weights == "kernel":
                # Of the distances beyond the nearest, or all weights of a far word would be 0.
                similar = np.exp(-(squares - squares.min(axis=1, keepdims=True)) / width)
                values[rows] = similar / similar.sum(axis=1, keepdims=True)
            else:
                values[rows] = least_squares_on(table[rows], anchors[columns])
        columns = np.concatenate([found[0] for found in near])
        return combined(columns, values, unit * anchors, **form)


def combined(
    columns: np.ndarray, values: np.ndarray, anchors: np.ndarray, **form: Any
) -> SparseForm:
    """The form of words that combine the anchors `columns` `(V, s)` with weights `values`.

    >>> form = combined(np.array([[0, 1]]), np.array([[2.0, 1.0]]), np.eye(2))
    >>> form(np.array([0])).numpy().tolist()
    [[2.0, 1.0]]
    """
    sparse = require("scipy.sparse", "compress")
    starts = np.arange(len(columns) + 1) * columns.shape[1]
    parts = (values.reshape(-1), columns.reshape(-1), starts)
    return form_of(sparse.csr_matrix(parts, (len(columns), len(anchors))), anchors, **form)


def form_of(transform: Any, anchors: np.ndarray, **form: Any) -> SparseForm:
    """The form of a SciPy matrix `T` over anchors, with the paper's count `nnz(T) + |A| d`.

    >>> scipy_sparse = require("scipy.sparse", "compress")
    >>> form_of(scipy_sparse.eye(3, 2, format="csr"), np.eye(2)).paper_bits
    192
    """
    paper = 32 * (transform.count_nonzero() + anchors.size)
    return SparseForm.from_matrix(transform, anchors, **{"paper_bits": int(paper), **form})


def _parts(table: np.ndarray) -> list[slice]:
    return [slice(start, start + ROWS) for start in range(0, len(table), ROWS)]
