"""The graph type: which objects are related, from any source."""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require

_ENUMERATED = 4_000_000  # pairs that are listed one by one; more are sampled until enough differ


class Graph:
    """Which of `V` objects (words, users, items) are related.

    Undirected and without loops: `(u, v)` is the edge `(v, u)`, and no object is related to
    itself. `P = {(u, v) : u and v are related}` are the positive pairs; pairs outside of `P` are
    negative, and there are so many that they are sampled.

    Args:
        matrix: `(V, V)` array or SciPy sparse matrix; an entry other than 0 is an edge, in one
            direction or both.
    Shapes: `matrix` is a SciPy CSR matrix of booleans `(V, V)`, symmetric.
    Raises: ValueError, if `matrix` is not square; ImportError, without SciPy
        (`pip install 'kerascompact[compress]'`).
    Example:
    >>> graph = Graph.from_pairs([(0, 3), (3, 1)], 4)
    >>> graph.pairs().tolist(), graph.related(3).tolist()
    ([[0, 3], [1, 3]], [0, 1])
    >>> graph.to_anchors([3, 2]).tolist()
    [[0, 0], [1, 0]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.3.
    """

    def __init__(self, matrix: Any) -> None:
        sparse = require("scipy.sparse", "compress")
        found = sparse.coo_matrix(matrix, copy=True)
        if found.shape[0] != found.shape[1]:
            checks.fail("matrix", "square, a row and a column for each object", found.shape)
        found.sum_duplicates()
        kept = (found.row != found.col) & (found.data != 0)
        rows, columns = found.row[kept], found.col[kept]
        rows, columns = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        ones = np.ones(len(rows), bool)
        self.matrix = sparse.csr_matrix((ones, (rows, columns)), shape=found.shape)
        self.matrix.sort_indices()

    @classmethod
    def from_pairs(cls, pairs: Any, num_objects: int) -> Self:
        """The graph of the edges `pairs`, integers `(n, 2)` in `[0, num_objects)`.

        >>> Graph.from_pairs(np.zeros((0, 2), int), 3).num_pairs
        0
        """
        sparse = require("scipy.sparse", "compress")
        num_objects = checks.integer_in("num_objects", num_objects, 1)
        pairs = np.asarray(pairs)
        if pairs.size == 0:
            pairs = pairs.reshape(0, 2).astype(np.int32)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            checks.fail("pairs", "of the shape (pairs, 2)", pairs.shape)
        checks.ids_below("pairs", pairs, num_objects)
        ones = np.ones(len(pairs), bool)
        shape = (num_objects, num_objects)
        return cls(sparse.coo_matrix((ones, (pairs[:, 0], pairs[:, 1])), shape=shape))

    @property
    def num_objects(self) -> int:
        """`V`."""
        return int(self.matrix.shape[0])

    @property
    def num_pairs(self) -> int:
        """Number of edges, each counted once."""
        return int(self.matrix.nnz) // 2

    def __repr__(self) -> str:
        return f"<Graph of {self.num_objects} objects, {self.num_pairs} pairs>"

    def __or__(self, other: "Graph") -> "Graph":
        """The union: pairs related in one graph or in the other, of the same objects."""
        if not isinstance(other, Graph):
            return NotImplemented
        if other.num_objects != self.num_objects:
            raise ValueError(
                f"Both graphs must have equally many objects. Received: {self!r} and {other!r}."
            )
        return Graph(self.matrix + other.matrix)

    def related(self, id: int) -> np.ndarray:
        """Ids of the objects related to one, int32, ascending."""
        id = checks.integer_in("id", id, 0, self.num_objects - 1)
        start, end = self.matrix.indptr[id : id + 2]
        return self.matrix.indices[start:end].astype(np.int32)

    def pairs(self) -> np.ndarray:
        """The positive pairs `(n, 2)`, int32, `u < v`, sorted."""
        coo = self.matrix.tocoo()
        upper = coo.row < coo.col
        return np.stack([coo.row[upper], coo.col[upper]], axis=1).astype(np.int32)

    def to_anchors(self, anchor_ids: Iterable[int], itself: bool = False) -> np.ndarray:
        """The entries of `T` `(V, |A|)` between related objects, where `S(G) = 0`.

        Row `u`, column `j` for each object `u` related to the anchor `anchor_ids[j]`: these entries
        are not l1-penalized. Of the complement `1 - S(G)` only these few are ever stored.

        Args:
            anchor_ids: `(|A|,)`, the object of each column.
            itself: Whether the entry of an anchor in its own column is included. The paper's
                pairs have none of these.
        Returns: `(n, 2)` int32, rows and columns of `T`, sorted.
        Raises: ValueError, if an anchor is not in the graph, or is repeated.

        >>> Graph.from_pairs([(0, 1)], 3).to_anchors([1], itself=True).tolist()
        [[0, 0], [1, 0]]
        """
        anchors = self._distinct("anchor_ids", anchor_ids)
        entries = self.matrix[anchors].tocoo()  # by rows: columns of CSR are slow to take
        words, columns = entries.col, entries.row
        if checks.boolean("itself", itself):
            words = np.concatenate([words, anchors])
            columns = np.concatenate([columns, np.arange(len(anchors))])
        order = np.lexsort([columns, words])
        return np.stack([words[order], columns[order]], axis=1).astype(np.int32)

    def negative_pairs(
        self, num_pairs: int, among: Iterable[int] | None = None, seed: int = 0
    ) -> np.ndarray:
        """Pairs of objects that are not related, each drawn once and all equally likely.

        Args:
            num_pairs: Number of pairs drawn.
            among: Only between these objects, such as the words without the reserved ids.
            seed: Seed of the draws.
        Returns: `(num_pairs, 2)` int32, `u < v`, sorted.
        Raises: ValueError, if there are fewer such pairs.

        >>> Graph.from_pairs([(0, 1), (1, 2)], 3).negative_pairs(1).tolist()
        [[0, 2]]
        """
        objects = np.arange(self.num_objects)
        if among is not None:
            objects = np.sort(self._distinct("among", among))
        random = np.random.default_rng(checks.integer_in("seed", seed, 0))
        count = len(objects)
        inside = self.matrix if among is None else self.matrix[objects][:, objects]
        coo = inside.tocoo()
        upper = coo.row < coo.col
        positive = np.sort(coo.row[upper].astype(np.int64) * count + coo.col[upper])
        total = count * (count - 1) // 2
        num_pairs = checks.integer_in("num_pairs", num_pairs, 0, total - len(positive))
        if total <= _ENUMERATED:
            u, v = np.triu_indices(count, 1)
            every = np.setdiff1d(u * count + v, positive, assume_unique=True)
            chosen = np.sort(random.choice(every, num_pairs, replace=False))
        else:
            chosen = _sampled(num_pairs, count, positive, random)
        return objects[np.stack(np.divmod(chosen, max(count, 1)), axis=1)].astype(np.int32)

    def _distinct(self, name: str, ids: Iterable[int]) -> np.ndarray:
        found = np.asarray(ids if isinstance(ids, np.ndarray) else list(ids))
        if found.ndim != 1 or found.size == 0 or len(np.unique(found)) != len(found):
            checks.fail(name, "a list of distinct ids, at least one", ids)
        return checks.ids_below(name, found, self.num_objects)


def _sampled(
    num_pairs: int, count: int, positive: np.ndarray, random: np.random.Generator
) -> np.ndarray:
    """Distinct pairs `u * count + v`, `u < v`, outside of the sorted `positive`."""
    found = np.zeros(0, np.int64)
    while len(found) < num_pairs:
        drawn = random.integers(count, size=(2, num_pairs - len(found) + 1000))
        low, high = drawn.min(axis=0), drawn.max(axis=0)
        keys = (low * count + high)[low < high]
        place = np.searchsorted(positive, keys)
        known = np.zeros(len(keys), bool)
        inside = place < len(positive)
        known[inside] = positive[place[inside]] == keys[inside]
        found = np.union1d(found, keys[~known])
    return np.sort(random.choice(found, num_pairs, replace=False))
