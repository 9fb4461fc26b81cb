"""k-SVD of a trained table: a dictionary of vectors, and sparse codes in it (Post-SH)."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.compress.nearest_anchors import form_of
from kerascompact.core import checks
from kerascompact.forms.sparse import SparseForm
from kerascompact.ops.k_svd import k_svd


class KSVD(Compressor):
    """Stores each word as a sparse combination of anchors that are fitted with the weights.

    `min_{T, A} sum_i ||E[i] - T[i] A||^2` with at most `s` entries in each row of `T`. It
    alternates between entries, by orthogonal matching pursuit, and anchors: each anchor and its
    weights become the best rank-one approximation of the residuals of the words that use it. An
    unused anchor is replaced by the worst approximated word. Anchors start as k-means centroids.

    Args:
        num_anchors: Number of anchors `|A|`, `2 <= |A| <= V`.
        num_neighbors: Number of entries `s` of a word, `1 <= s <= |A|`; the paper uses 10 with 500
            anchors and 20 with 1,000.
        iterations: Number of iterations of k-means and of k-SVD.
        seed: Seed of the first centroids.
        max_points: Rows that the anchors are fitted to at most: the most frequent ones, if counts
            are given, or any. All are coded.
        verbose: Whether to show a progress bar.
        max_neighbors: Largest number of entries of a word, if words share `s V` entries: those are
            taken that lessen the error most, weighted by counts, so that rare words have few or
            none, and are zero. Default: each word has `s`.

    Storage: that of `NearestAnchors`.
    Raises: ValueError, if there are fewer words than anchors, or an argument is wrong; ImportError,
        without scikit-learn (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]])
    >>> form = KSVD(num_anchors=2, num_neighbors=1).fit(table)
    >>> form(np.arange(4)).numpy().round(4).tolist()
    [[0.0, 1.0], [0.0, 3.0], [5.0, 0.0], [5.5, 0.0]]

    Reference: [Aharon et al., TSP 2006](https://doi.org/10.1109/TSP.2006.881199), sec. IV, as the
    baseline of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 4.2, E.2.
    Differs: `max_neighbors` is ours. One power iteration is in place of an anchor's singular value
    decomposition, as in
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
        max_neighbors: int | None = None,
    ) -> None:
        self.num_anchors = checks.integer_in("num_anchors", num_anchors, 2, 2**15)
        self.num_neighbors = checks.integer_in("num_neighbors", num_neighbors, 1, self.num_anchors)
        if max_neighbors is not None:
            checks.integer_in("max_neighbors", max_neighbors, num_neighbors, num_anchors)
        self.max_neighbors = max_neighbors
        self.iterations = checks.integer_in("iterations", iterations, 0)
        self.seed = checks.integer_in("seed", seed, 0)
        self.max_points = checks.integer_in("max_points", max_points, 2)
        self.verbose = checks.boolean("verbose", verbose)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> SparseForm:
        checks.integer_in("num_anchors", self.num_anchors, 2, len(table))
        points, unit = in_units(table)
        transform, anchors = k_svd(
            points,
            self.num_anchors,
            self.num_neighbors,
            counts,
            max_neighbors=self.max_neighbors,
            iterations=self.iterations,
            seed=self.seed,
            max_points=self.max_points,
            steps=self.steps,
        )
        return form_of(transform * unit, anchors, **form)
