"""k-means clusters of a trained table."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.core import checks
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.ops.kmeans import kmeans


class KMeansClusters(Compressor):
    """Stores each word as a pointer to the nearest of `k` centroids.

    `E[i] ~ W[argmin_j ||E[i] - W[j]||]`, `W` the centroids of k-means over the table's rows: the
    post-training version of `ClusterEmbedding`.

    Args:
        num_clusters: Number of centroids `k`, `2 <= k <= V`.
        seed: Seed of the first centroids.

    Storage: `V ceil(log2 k) + 32 k d` bits.
    Raises: ValueError, if `k` exceeds the words; ImportError, without scikit-learn
        (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> KMeansClusters(2).fit(table)(np.arange(4)).numpy().ravel().tolist()
    [0.5, 0.5, 5.5, 5.5]

    Reference: [scikit-learn, `KMeans`](https://scikit-learn.org/stable/modules/clustering.html),
    k-means++ and Lloyd's iterations.
    """

    def __init__(self, num_clusters: int, seed: int = 0) -> None:
        self.num_clusters = checks.integer_in("num_clusters", num_clusters, 2, 2**16)
        self.seed = checks.integer_in("seed", seed, 0)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> CodebookForm:
        checks.integer_in("num_clusters", self.num_clusters, 2, len(table))
        points, unit = in_units(table)
        codes, centroids = kmeans(points, self.num_clusters, counts, seed=self.seed)
        paper = len(table) * code_bits(self.num_clusters) + 32 * centroids.size
        return CodebookForm.from_codes(codes, unit * centroids, **{"paper_bits": paper, **form})
