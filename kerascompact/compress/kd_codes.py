"""KD codes of a trained table, by additive quantization."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.core import checks
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.ops.additive_codes import additive_codes


class KDCodes(Compressor):
    """Stores each word as `D` codes of `K` values, whose vectors add up to the word's vector.

    `E[i] ~ sum_j W^j[c_i^j]`: the post-training version of `KDCodeEmbedding`. `codes_of(form)`
    reads them, to train on with `KDCodeEmbedding(codes=...)`. Two searches are run, and the codes
    with the smaller error are kept:

    - "residual": k-means on successive residuals, then `iterations` rounds of fitting all codebooks
      by least squares and updating all codes. Best where a few directions hold most of the table.
    - "annealed": random codes, then as many rounds, each choosing codes by codebooks with noise
      that falls to zero (simulated annealing). Best where norms of words differ much.

    Relative squared errors at `K = D = 32`: 0.17 (residual), 0.22 (annealed) and 0.23
    (`CompositionalCodes`, 40 epochs) for the input table of a trained language model of PTB, 10,000
    x 200; 0.51, 0.36 and 0.43 (60 epochs) for 300 singular vectors of PTB's word co-occurrences.

    Args:
        cardinality: Number of values `K` of a code, `2 <= K <= V`.
        code_length: Number of codes `D` of a word.
        start: Search to use: "residual", "annealed", or "best" for both.
        iterations: Number of rounds of the search.
        seed: Seed of k-means, the random codes and the noise.
        max_points: Largest number of rows that k-means learns from; the rounds use all.
        verbose: Whether to show a progress bar.

    Storage: `V D ceil(log2 K) + 32 D K d` bits.
    Raises: ValueError, if an argument is wrong, or `K` exceeds the words; ImportError, without
        scikit-learn (`pip install 'kerascompact[compress]'`).

    >>> table = np.array([[0, 0], [1, 0], [0, 5], [1, 5]], "float32")
    >>> form = KDCodes(cardinality=2, code_length=2).fit(table)
    >>> bool(np.abs(form(np.arange(4)) - table).max() < 1e-5)
    True

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), table 5 "Pre-trained
    code"; [Martinez et al., ECCV
    2018](https://openaccess.thecvf.com/content_ECCV_2018/html/Julieta_Martinez_LSQ_lower_runtime_ECCV_2018_paper.html),
    the noise on the codebooks.
    Differs: KD encoding pre-trains codes with an auto-encoder, as `CompositionalCodes` does; this
    has the smaller error. The noise falls linearly, and has each codebook's own deviation.
    """

    def __init__(
        self,
        cardinality: int = 32,
        code_length: int = 32,
        *,
        start: str = "best",
        iterations: int = 40,
        seed: int = 0,
        max_points: int = 65_536,
        verbose: bool = False,
    ) -> None:
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.start = checks.choice("start", start, ("residual", "annealed", "best"))
        self.iterations = checks.integer_in("iterations", iterations, 0)
        self.seed = checks.integer_in("seed", seed, 0)
        self.max_points = checks.integer_in("max_points", max_points, 2)
        self.verbose = checks.boolean("verbose", verbose)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> CodebookForm:
        checks.integer_in("cardinality", self.cardinality, 2, len(table))
        points, unit = in_units(table)
        codes, codebooks = additive_codes(
            points,
            self.cardinality,
            self.code_length,
            counts,
            start=self.start,
            iterations=self.iterations,
            seed=self.seed,
            max_points=self.max_points,
            steps=self.steps,
        )
        paper = codes.size * code_bits(self.cardinality) + 32 * codebooks.size
        return CodebookForm.from_codes(codes, unit * codebooks, **{"paper_bits": paper, **form})
