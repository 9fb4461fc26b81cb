"""Low-rank factors of a trained table."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.core import checks
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.factored import FactoredForm
from kerascompact.ops.svd import low_rank_factors


class TruncatedSVD(Compressor):
    """Stores a table as the product of a tall and a wide matrix of rank `r`.

    `E ~ E Q Q^T`, `Q: (d, r)` the first right singular vectors of `E`: no table of rank `r` has
    a smaller squared error. With counts `n_i` the errors are weighted, `sum_i n_i ||e_i||^2`, and
    `Q` holds the singular vectors of the rows `sqrt(n_i) E[i]`; a word that never occurs is
    projected on the span of the others.

    Args:
        rank: Inner width `r`, `1 <= r <= min(V, d)`.

    Storage: `32 r (V + d)` bits.
    Raises: ValueError, if the rank exceeds the table.

    >>> table = np.outer([1.0, 2, 3], [1, 0, -1])
    >>> form = TruncatedSVD(rank=1).fit(table)
    >>> form(np.array([2])).numpy().round(4).tolist()
    [[3.0, 0.0, -3.0]]

    Reference: [Eckart & Young, Psychometrika 1936](https://doi.org/10.1007/BF02288367). Differs:
    found as eigenvectors of the `(d, d)` matrix `E^T E` in float64, whose size does not depend on
    the vocabulary.
    """

    def __init__(self, rank: int) -> None:
        self.rank = checks.integer_in("rank", rank, 1)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> FactoredForm:
        checks.integer_in("rank", self.rank, 1, min(table.shape))
        short, kernel = low_rank_factors(table, self.rank, counts)
        arrays = {"table": short}
        part = DenseForm.from_arrays(arrays, input_dim=len(table), output_dim=self.rank)
        paper = 32 * self.rank * sum(table.shape)
        return FactoredForm.from_parts(part, kernel, **{"paper_bits": paper, **form})
