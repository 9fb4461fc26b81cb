"""TT-SVD: the tensor train of a table by repeated singular value decompositions."""

import math

import numpy as np

from kerascompact.ops.tensor_train import TrainShape


def tensor_train_svd(table: np.ndarray, shape: TrainShape) -> list[np.ndarray]:
    """Cores `(v_k, r_k d_k r_{k+1})` of the train of a table (TT-SVD).

    Each core holds the left singular vectors of the remainder, unfolded by one more digit and one
    more part of the columns. For `K` cores the error is at most `sqrt(K - 1)` times the least one
    of these ranks. Rows beyond the table count as zeros.

    Args:
        table: Table of vectors, `(V, d)`.
        shape: Sizes of the train, with room for `V` ids.

    >>> table = np.outer([1.0, 2.0, 3.0, 6.0], [1, 4])
    >>> cores = tensor_train_svd(table, TrainShape((2, 2), (1, 2), (1,)))
    >>> np.einsum("ia,jb->ijb", *cores).reshape(4, 2).round(4).tolist()
    [[1.0, 4.0], [2.0, 8.0], [3.0, 12.0], [6.0, 24.0]]

    Reference: [Oseledets, SIAM J. Sci. Comput. 2011](https://doi.org/10.1137/090752286),
    algorithm 1 and eq. 2.5.
    """
    count = len(shape.id_factors)
    whole = np.zeros((math.prod(shape.id_factors), table.shape[1]))
    whole[: len(table)] = table
    # Axes v_0 v_1 ... d_0 d_1 ... -> v_0 d_0 v_1 d_1 ...
    axes = [axis for k in range(count) for axis in (k, count + k)]
    rest = whole.reshape(*shape.id_factors, *shape.width_factors).transpose(axes)
    cores, outer = [], shape.outer
    for k, (v, d) in enumerate(zip(shape.id_factors, shape.width_factors, strict=True)):
        left, right = outer[k], outer[k + 1]
        rest = rest.reshape(left * v * d, -1)
        core = rest
        if k < count - 1:
            u, values, vectors = np.linalg.svd(rest, full_matrices=False)
            core = _to(u[:, :right], right, axis=1)
            rest = _to((values[:, None] * vectors)[:right], right, axis=0)
        by_digit = core.reshape(left, v, d * right).transpose(1, 0, 2)
        cores.append(by_digit.reshape(v, -1).astype(np.float32))
    return cores


def _to(matrix: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Pads an axis of a matrix with zeros to a size."""
    missing = [(0, 0), (0, 0)]
    missing[axis] = (0, size - matrix.shape[axis])
    return np.pad(matrix, missing)
