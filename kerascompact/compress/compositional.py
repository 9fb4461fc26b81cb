"""Compositional codes of a trained table, by an auto-encoder."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor, in_units
from kerascompact.core import checks
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.ops.code_autoencoder import encode_table


class CompositionalCodes(Compressor):
    """Stores each word as `M` codes of `K` values, found by an auto-encoder of the table.

    `E[i] ~ sum_j W^j[c_i^j]`, `c_i^j = argmax_k a_ijk`,
    `a_i = log(softplus(tanh(E[i] A + a') B + b') + 1e-8)` with a hidden layer of `M K / 2` units.
    Trained on `1/2 ||E[i] - sum_j W^j^T t_ij||^2`, `t_ij` a Gumbel-softmax sample of `a_ij`. The
    codes of the epoch with the smallest error are kept. With counts, words are drawn as often as
    they occur.

    Args:
        cardinality: Number of values `K` of a code.
        code_length: Number of codes `M` of a word.
        epochs: Number of passes over the table; the paper's code uses 200.
        batch_size: Number of rows of a step.
        learning_rate: Learning rate of Adam; the paper uses 1e-4.
        temperature: Temperature `tau > 0` of the Gumbel-softmax.
        clip_norm: Largest norm of the gradient, by clipping.
        refit: Whether to fit codebooks to the codes by least squares at the end: those of the
            auto-encoder reconstruct soft samples, but codes ship.
        seed: Seed of the weights, the order of the rows and the noise.
        verbose: Whether to show a progress bar.

    Storage: `V M ceil(log2 K) + 32 M K d` bits.
    Raises: ValueError, if an argument is wrong; ImportError, if `refit`, without scikit-learn
        (`pip install 'kerascompact[compress]'`).

    >>> table = np.random.default_rng(0).normal(size=(50, 4))
    >>> form = CompositionalCodes(cardinality=4, code_length=3, epochs=2).fit(table)
    >>> form.code_length, form.cardinality
    (3, 4)

    Reference: [Shu & Nakayama, ICLR 2018](https://arxiv.org/abs/1711.01068), sec. 4, with the sizes
    and the clipping of its code (`epochs=200, learning_rate=1e-4, refit=False` gives the paper's).
    Differs: the table is divided by its standard deviation, so that the rate fits any table, and
    the rate is thirty times the paper's; the codes kept are those with the smallest error of the
    codes themselves, over the whole table, not of the soft samples.
    """

    def __init__(
        self,
        cardinality: int,
        code_length: int,
        *,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        temperature: float = 1.0,
        clip_norm: float = 1e-3,
        refit: bool = True,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.epochs = checks.integer_in("epochs", epochs, 1)
        self.batch_size = checks.integer_in("batch_size", batch_size, 1)
        self.learning_rate = checks.number("learning_rate", learning_rate, above=0)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.clip_norm = checks.number("clip_norm", clip_norm, above=0)
        self.refit = checks.boolean("refit", refit)
        self.seed = checks.integer_in("seed", seed, 0)
        self.verbose = checks.boolean("verbose", verbose)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> CodebookForm:
        points, unit = in_units(table)
        found = encode_table(
            points,
            self.cardinality,
            self.code_length,
            counts,
            epochs=self.epochs,
            batch_size=self.batch_size,
            learning_rate=self.learning_rate,
            temperature=self.temperature,
            clip_norm=self.clip_norm,
            refit=self.refit,
            seed=self.seed,
            steps=self.steps,
        )
        paper = found.codes.size * code_bits(self.cardinality) + 32 * found.codebooks.size
        return CodebookForm.from_codes(
            found.codes, unit * found.codebooks, **{"paper_bits": paper, **form}
        )
