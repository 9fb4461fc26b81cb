"""Start of KD codes from a trained table: codes, codebooks and hidden layer."""

from typing import Any, NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.ops import additive
from kerascompact.ops.additive_codes import additive_codes
from kerascompact.ops.svd import low_rank_factors


class KDStart(NamedTuple):
    """Initial weights of a `KDCodeEmbedding`.

    `codes`: `(V, D)`. `codebooks`: `(D, K, d')`. `kernel`: `(d', d)` of the hidden layer, if there
    is one. `composed`: the vectors after the codebooks `(V, d')` and after the hidden layer `(V,
    d)`, which batch normalization leaves unchanged.
    """

    codes: np.ndarray
    codebooks: np.ndarray
    kernel: np.ndarray | None
    composed: list[np.ndarray]


def check_composition(composition: str, shared_codebook: bool, codes: Any) -> None:
    """Raises `ValueError` for a composition that least squares cannot fit to a table."""
    if composition == "lstm":
        expected = "'sum' or 'mean' with `weights`: no least squares through an LSTM"
        checks.fail("composition", expected, composition)
    if shared_codebook:
        expected = "False with `weights`: each position's codebook is fitted to what others leave"
        checks.fail("shared_codebook", expected, shared_codebook)
    if isinstance(codes, str) and codes == "fixed":
        checks.fail("codes", "the codes themselves with `weights`, to fit codebooks to them", codes)


def kd_start(
    table: np.ndarray,
    cardinality: int,
    code_length: int,
    *,
    hidden_dim: int | None = None,
    mean: bool = False,
    codes: np.ndarray | None = None,
    seed: int = 0,
) -> KDStart:
    """The best codes and codebooks that `compress.KDCodes` finds for a table.

    With a hidden layer they are those of the table's first `d'` singular vectors, and the layer is
    the basis of these vectors.

    Args:
        table: Table of vectors, `(V, d)` float32.
        cardinality: Number of codes `K` of a codebook, at most `V` unless codes are given.
        code_length: Number of codebooks `D`.
        hidden_dim: Width `d'` of the code vectors, or `None` without a hidden layer.
        mean: Whether code vectors are averaged, not added.
        codes: Fixed codes `(V, D)`, to which codebooks are fitted; `None`: they are searched.
        seed: Seed of the search.

    >>> start = kd_start(np.array([[0, 0], [1, 0], [0, 5], [1, 5]], "float32"), 2, 2)
    >>> start.composed[0].round(4).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, 5.0], [1.0, 5.0]]
    """
    short, kernel = table, None
    if hidden_dim is not None:
        short, kernel = low_rank_factors(table, min(hidden_dim, table.shape[1]))
    if codes is None:
        checks.integer_in("cardinality", cardinality, 2, len(table))  # as the compressor
        codes, codebooks = additive_codes(short, cardinality, code_length, seed=seed)
    else:
        zeros = np.zeros((code_length, cardinality, short.shape[1]), np.float32)
        codebooks = additive.refit(short, codes, zeros, steps=30)
    if hidden_dim is not None and kernel is not None and hidden_dim > len(kernel):
        more = hidden_dim - len(kernel)
        codebooks = np.pad(codebooks, [(0, 0), (0, 0), (0, more)])
        # These columns are zeros, but can learn: the layer passes them a gradient.
        extra = np.random.default_rng(seed).normal(size=(more, table.shape[1])) / hidden_dim**0.5
        kernel = np.concatenate([kernel, extra.astype(np.float32)])
    composed = [additive.reconstruct(codes, codebooks)]
    if kernel is not None:
        composed.append(composed[0] @ kernel)
    scale = np.float32(code_length if mean else 1)
    return KDStart(codes, scale * codebooks, kernel, composed)
