"""Product quantization of a trained table: k-means on each part of its vectors."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.core import checks
from kerascompact.core.storage import code_bits
from kerascompact.forms.base import Form
from kerascompact.forms.codebook import CodebookForm
from kerascompact.forms.direction_norm import DirectionNormForm
from kerascompact.ops.kmeans import kmeans
from kerascompact.ops.product_codes import product_codes

NORM_CARDINALITY = 256  # as in fastText


class ProductQuantization(Compressor):
    """Cuts vectors into `D` equal parts and stores for each part the nearest of `K` centroids.

    `E[i] ~ [W^1[c_i^1]; ...; W^D[c_i^D]]`, `W^j` the centroids of k-means over part `j` of all
    rows. With `norms`, `E[i] ~ n[b_i] u_i`: the direction `E[i] / ||E[i]||` is quantized to
    `u_i`, and the norm separately with a codebook `n` of 256 numbers.

    Args:
        code_length: Number of parts `D`, a divisor of `d`. Default: parts of two numbers, as in
            fastText, or of one, if `d` is odd.
        cardinality: Number of centroids `K` of a part, `2 <= K <= V`.
        norms: Whether norms are quantized separately (fastText's `-qnorm`).
        seed: Seed of the first centroids.
        max_points: Rows that k-means learns from at most: the most frequent ones, if counts are
            given, or any. All rows are quantized.
        iterations: Largest number of iterations of k-means.
        library: Library of k-means: "scikit-learn", or "faiss", for large tables
            (`pip install 'kerascompact[faiss]'`).
        verbose: Whether to show a progress bar.

    Storage: `V D ceil(log2 K) + 32 K d` bits; with norms `8 V + 32 * 256` more.
    Raises: ValueError, if an argument is wrong, or `D` does not divide `d`; ImportError, without
        scikit-learn (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0, 1], [0, 2], [5, 1], [5, 2]], "float32")
    >>> form = ProductQuantization(code_length=2, cardinality=2).fit(table)
    >>> form(np.arange(4)).numpy().tolist()
    [[0.0, 1.0], [0.0, 2.0], [5.0, 1.0], [5.0, 2.0]]

    Reference: [Jegou et al., TPAMI 2011](https://hal.inria.fr/inria-00514462), sec. II;
    [Joulin et al., 2016](https://arxiv.org/abs/1612.03651), sec. 3; 256 centroids, 25
    iterations and 65,536 points at most are those of its code, fastText.
    Differs: fastText starts from random rows, here it is k-means++; `d` must be a multiple of `D`,
    where fastText has a last part of another width.
    """

    def __init__(
        self,
        code_length: int | None = None,
        cardinality: int = 256,
        norms: bool = False,
        seed: int = 0,
        max_points: int = 65_536,
        iterations: int = 25,
        library: str = "scikit-learn",
        verbose: bool = False,
    ) -> None:
        if code_length is not None:
            code_length = checks.integer_in("code_length", code_length, 1)
        self.code_length = code_length
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.norms = checks.boolean("norms", norms)
        self.seed = checks.integer_in("seed", seed, 0)
        self.max_points = checks.integer_in("max_points", max_points, 2)
        self.iterations = checks.integer_in("iterations", iterations, 1)
        self.library = checks.choice("library", library, ("scikit-learn", "faiss"))
        self.verbose = checks.boolean("verbose", verbose)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> Form:
        rows, width = table.shape
        checks.integer_in("cardinality", self.cardinality, 2, rows)
        length = self.code_length or (width if width % 2 else width // 2)
        if width % length:
            divisors = ", ".join(str(n) for n in range(1, width + 1) if width % n == 0)
            checks.fail("code_length", f"a divisor of the width {width}, one of {divisors}", length)
        table, unit = in_units(table)
        bits = rows * length * code_bits(self.cardinality) + 32 * self.cardinality * width
        if not self.norms:
            codes, codebooks = self._product_codes(table, counts, length)
            config = {"paper_bits": bits, **form}
            return CodebookForm.from_codes(codes, unit * codebooks, combine="concat", **config)
        norms = np.linalg.norm(table, axis=1, keepdims=True)
        directions = self._product_codes(table / np.where(norms > 0, norms, 1), counts, length)
        codes, numbers = self._kmeans(norms, min(NORM_CARDINALITY, rows), counts)
        parts = [
            CodebookForm.from_codes(*directions, combine="concat"),
            CodebookForm.from_codes(codes, unit * numbers),
        ]
        bits += rows * code_bits(len(numbers)) + 32 * len(numbers)
        scaled = DirectionNormForm(rows, width, parts, **{"paper_bits": bits, **form})
        scaled.build()
        return scaled

    def _product_codes(
        self, table: np.ndarray, counts: np.ndarray | None, length: int
    ) -> tuple[np.ndarray, np.ndarray]:
        return product_codes(
            table,
            length,
            self.cardinality,
            counts,
            seed=self.seed,
            iterations=self.iterations,
            max_points=self.max_points,
            library=self.library,
            steps=self.steps,
        )

    def _kmeans(
        self, points: np.ndarray, cardinality: int, counts: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        return kmeans(
            points,
            cardinality,
            counts,
            seed=self.seed,
            iterations=self.iterations,
            max_points=self.max_points,
            library=self.library,
        )
