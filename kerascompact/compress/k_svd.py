"""Post-SH with k-SVD: a dictionary, and sparse codes in it, fitted to a trained table."""

import warnings
from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.compress.nearest_anchors import form_of
from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.forms.sparse import SparseForm
from kerascompact.ops.kmeans import ROWS, kmeans


class KSVD(Compressor):
    """Stores each word as a sparse combination of anchors that are fitted with the weights.

    `min_{T, A} sum_i ||E[i] - T[i] A||^2` with at most `s` entries in each row of `T`. In turn: the
    entries by orthogonal matching pursuit, then one anchor after the other, and its weights, as the
    rank-one matrix nearest to what the others leave of the words that use it. An anchor that none
    uses becomes the word that is approximated worst. Anchors start as the centroids of k-means.

    Args:
        num_anchors: `|A|`, `2 <= |A| <= V`.
        num_neighbors: `s`, `1 <= s <= |A|` entries of a word; 10 with 500 anchors and 20 with 1,000
            in the paper.
        iterations: Of both.
        seed: Of the first centroids.
        max_points: Rows that the anchors are fitted to at most: the most frequent ones, if counts
            are given, or any. All are coded.
        verbose: Whether to show progress.

    Storage: that of `NearestAnchors`.
    Raises: ValueError, if there are fewer words than anchors, or an argument is wrong; ImportError,
        without scikit-learn (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]])
    >>> form = KSVD(num_anchors=2, num_neighbors=1).fit(table)
    >>> form(np.arange(4)).numpy().round(4).tolist()
    [[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]]

    Reference: [Aharon et al., TSP 2006](https://doi.org/10.1109/TSP.2006.881199), sec. IV, as the
    baseline of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 4.2, E.2.
    Differs: one power iteration in place of an anchor's singular value decomposition, as in
    [Rubinstein et al., 2008](https://csaws.cs.technion.ac.il/~ronrubin/Publications/KSVD-OMP-v2.pdf).
    """

    def __init__(
        self,
        num_anchors: int = 500,
        num_neighbors: int = 10,
        iterations: int = 10,
        seed: int = 0,
        max_points: int = 65_536,
        verbose: bool = False,
    ) -> None:
        self.num_anchors = checks.integer_in("num_anchors", num_anchors, 2, 2**15)
        self.num_neighbors = checks.integer_in("num_neighbors", num_neighbors, 1, self.num_anchors)
        self.iterations = checks.integer_in("iterations", iterations, 0)
        self.seed = checks.integer_in("seed", seed, 0)
        self.max_points = checks.integer_in("max_points", max_points, 2)
        self.verbose = checks.boolean("verbose", verbose)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> SparseForm:
        checks.integer_in("num_anchors", self.num_anchors, 2, len(table))
        _, start = kmeans(
            table, self.num_anchors, counts, seed=self.seed, max_points=self.max_points
        )
        points, weights = self._points(table, counts)
        anchors = _unit(start.astype(np.float64))
        for _ in self.steps(self.iterations, "k-SVD"):
            transform = self._codes(points, anchors)
            _fit_anchors(points, weights, transform.tocsc(), anchors)
        return form_of(self._codes(table, anchors), anchors.astype(np.float32), **form)

    def _points(
        self, table: np.ndarray, counts: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows that anchors are fitted to, and their weights."""
        weights = np.ones(len(table)) if counts is None else counts / counts.max()
        chosen = np.arange(len(table))
        most = max(self.max_points, self.num_anchors)
        if len(table) > most and counts is None:
            chosen = np.random.default_rng(self.seed).choice(len(table), most, replace=False)
        elif len(table) > most:
            chosen = np.argsort(-weights, kind="stable")[:most]
        return table[chosen].astype(np.float64), weights[chosen]

    def _codes(self, points: np.ndarray, anchors: np.ndarray) -> Any:
        """The `s` weights of each point by orthogonal matching pursuit, a SciPy csr matrix."""
        linear_model = require("sklearn.linear_model", "compress")
        sparse = require("scipy.sparse", "compress")
        gram, parts = anchors @ anchors.T, []
        # No point needs more anchors than it has numbers.
        count = min(self.num_neighbors, points.shape[1])
        with warnings.catch_warnings():
            # A point that fewer anchors give exactly: nothing is lost.
            warnings.filterwarnings("ignore", "Orthogonal matching pursuit ended", RuntimeWarning)
            for start in range(0, len(points), ROWS):
                products = anchors @ points[start : start + ROWS].T
                found = linear_model.orthogonal_mp_gram(gram, products, n_nonzero_coefs=count)
                parts.append(sparse.csr_matrix(found.reshape(len(anchors), -1).T))
        return sparse.vstack(parts, format="csr")


def _fit_anchors(
    points: np.ndarray, weights: np.ndarray, transform: Any, anchors: np.ndarray
) -> None:
    """Changes anchors, one after the other, to fit weighted points better.

    The entries stay where they are and follow each anchor; the next pursuit finds them anew.
    """
    rest = points - transform @ anchors
    for k in range(len(anchors)):
        entries = slice(transform.indptr[k], transform.indptr[k + 1])
        rows = transform.indices[entries]
        own = transform.data[entries]
        if not len(rows):
            worst = np.argmax(weights * np.sum(np.square(rest), axis=1))
            if np.any(rest[worst]):
                anchors[k] = _unit(points[None, worst])[0]
                rest[worst] = 0  # so that the next one is another
            continue
        wanted = rest[rows] + own[:, None] * anchors[k]
        direction = (weights[rows] * own) @ wanted
        length = np.linalg.norm(direction)
        if length > 0:
            anchors[k] = direction / length
        rest[rows] = wanted - np.outer(wanted @ anchors[k], anchors[k])


def _unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1, which matching pursuit compares; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)
