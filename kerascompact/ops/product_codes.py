"""Product quantization of a table: k-means on every part of a vector."""

from collections.abc import Callable, Iterable

import numpy as np

from kerascompact.ops.kmeans import kmeans


def product_codes(
    table: np.ndarray,
    code_length: int,
    cardinality: int,
    weights: np.ndarray | None = None,
    *,
    seed: int = 0,
    iterations: int = 25,
    max_points: int = 65_536,
    library: str = "scikit-learn",
    steps: Callable[[int, str], Iterable[int]] = lambda count, what: range(count),
) -> tuple[np.ndarray, np.ndarray]:
    """Cuts vectors into `D` equal parts and finds for each the nearest of `K` centroids.

    Args:
        table: Table of vectors, `(V, d)` float32.
        code_length: Number of codebooks `D`, a divisor of `d`.
        cardinality: Number of codes `K` of a codebook, at most `V`.
        weights: Weights of the words' errors, `(V,)`; `None`: all 1.
        seed: Seed of the first centroids.
        iterations: Largest number of iterations of k-means.
        max_points: Largest number of rows that k-means learns from.
        library: Library of k-means, "scikit-learn" or "faiss".
        steps: Function that returns `range(count)`, perhaps with a progress bar.

    Returns: Codes `(V, D)` int32, codebooks `(D, K, d / D)` float32.

    >>> codes, books = product_codes(np.array([[0, 1], [0, 2], [5, 1]], "float32"), 2, 2)
    >>> np.stack([books[j][codes[:, j], 0] for j in range(2)], axis=1).tolist()
    [[0.0, 1.0], [0.0, 2.0], [5.0, 1.0]]

    Reference: [Jegou et al., TPAMI 2011](https://hal.inria.fr/inria-00514462), sec. II.
    """
    codes, codebooks = [], []
    parts = np.split(table, code_length, axis=1)
    for position in steps(code_length, "product quantization"):
        found, centroids = kmeans(
            np.ascontiguousarray(parts[position]),
            cardinality,
            weights,
            seed=seed,
            iterations=iterations,
            max_points=max_points,
            library=library,
        )
        codes.append(found)
        codebooks.append(centroids)
    return np.stack(codes, axis=1), np.stack(codebooks)
