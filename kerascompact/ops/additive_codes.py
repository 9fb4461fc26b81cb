"""Search for additive codes of a table's rows."""

from collections.abc import Callable, Iterable

import numpy as np

from kerascompact.ops import additive

Steps = Callable[[int, str], Iterable[int]]


def additive_codes(
    table: np.ndarray,
    cardinality: int,
    code_length: int,
    weights: np.ndarray | None = None,
    *,
    start: str = "best",
    iterations: int = 40,
    seed: int = 0,
    max_points: int = 65_536,
    steps: Steps = lambda count, what: range(count),
) -> tuple[np.ndarray, np.ndarray]:
    """Codes and codebooks with a small error of `sum_j W^j[c_i^j]`, see `compress.KDCodes`.

    Args:
        table: Table of vectors, `(V, d)` float32.
        cardinality: Number of codes `K` of a codebook, at most `V`.
        code_length: Number of codebooks `D`.
        weights: Weights of the words' errors, `(V,)`; `None`: all 1.
        start: "residual", "annealed", or "best": both, and the better one is kept.
        iterations: Number of rounds of fitting all codebooks and choosing all codes anew.
        seed: Seed of k-means, the random codes and the noise.
        max_points: Largest number of rows that k-means learns from.
        steps: Function that returns `range(count)`, perhaps with a progress bar.

    Returns: Codes `(V, D)` int32, codebooks `(D, K, d)` float32.

    >>> table = np.array([[0, 0], [1, 0], [0, 5], [1, 5]], "float32")
    >>> codes, books = additive_codes(table, 2, 2)
    >>> bool(np.abs(additive.reconstruct(codes, books) - table).max() < 1e-5)
    True

    Reference: [Martinez et al., ECCV 2018](https://openaccess.thecvf.com/content_ECCV_2018/html/Julieta_Martinez_LSQ_lower_runtime_ECCV_2018_paper.html).
    """
    found = []
    if start != "annealed":
        residual = additive.residual(
            table,
            cardinality,
            steps(code_length, "residual k-means"),
            weights,
            seed=seed,
            max_points=max_points,
        )
        found.append(_refined(table, *residual, weights, iterations, seed, steps))
    if start != "residual":
        sizes = code_length, cardinality
        found.append(_annealed(table, *sizes, weights, iterations, seed, steps))
    errors = [additive.error(table, codes, books, weights) for codes, books in found]
    return found[int(np.argmin(errors))]


def _refined(
    table: np.ndarray,
    codes: np.ndarray,
    codebooks: np.ndarray,
    weights: np.ndarray | None,
    iterations: int,
    seed: int,
    steps: Steps,
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    for _ in steps(iterations, "refining codes"):
        codebooks = additive.refit(table, codes, codebooks, weights, steps=3)
        codes = additive.descend(table, codes, codebooks, random.permutation(len(codebooks)))
    return codes, additive.refit(table, codes, codebooks, weights)


def _annealed(
    table: np.ndarray,
    code_length: int,
    cardinality: int,
    weights: np.ndarray | None,
    iterations: int,
    seed: int,
    steps: Steps,
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    sizes = code_length, cardinality, table.shape[1]
    codes = random.integers(0, cardinality, (len(table), code_length), np.int32)
    codebooks = np.zeros(sizes, np.float32)
    for round in steps(iterations, "annealing codes"):
        codebooks = additive.refit(table, codes, codebooks, weights, steps=3)
        temperature = 1 - (round + 1) / iterations
        deviation = temperature * codebooks.std(axis=1, keepdims=True)
        noisy = codebooks + deviation * random.standard_normal(sizes, np.float32)
        codes = additive.descend(table, codes, noisy, random.permutation(code_length))
    return codes, additive.refit(table, codes, codebooks, weights)
