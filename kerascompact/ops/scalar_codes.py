"""Scales of scalar quantization with the smallest squared error.

An entry `x` becomes `s (q - (2^b - 1) / 2)`, `q` in `[0, 2^b - 1]`. Among scales `s`
that clip at a tenth to all of the largest entry, the best is taken, then fitted to its codes. If
the largest entry of a table is beyond 20 times the root of the mean square, the least limit is at
twice this root.
"""

from typing import Any

import numpy as np

ROWS = 4096  # rows at a time, tried with every limit
FRACTIONS = np.geomspace(0.1, 1.0, 24)  # limits to try, as shares of the largest entry


def row_scales(table: np.ndarray, bits: int) -> np.ndarray:
    """The best scale of each row of a table `(V, d)`, `(V,)` float32.

    >>> row_scales(np.array([[1.0, -1.0], [3.0, 3.0]]), 1).tolist()
    [2.0, 6.0]
    """
    scales = []
    for rows in _parts(table):
        tried = np.abs(rows).max(axis=1)[:, None] * _steps(bits)
        errors = [_errors(rows, scale[:, None], bits) for scale in tried.T]
        scale = tried[np.arange(len(rows)), np.argmin(errors, axis=0)]
        scales.append(_fitted(*_moments(rows, scale[:, None], bits)))
    return np.concatenate(scales)


def table_scale(table: np.ndarray, bits: int, weights: np.ndarray | None = None) -> np.ndarray:
    """The best scale for all rows of a table, whose errors have weights `(V,)`: `()` float32.

    >>> float(table_scale(np.array([[1.0, 3.0], [-1.0, -3.0]]), 1))
    4.0
    """
    parts = _parts(table)
    weights = np.ones(len(table)) if weights is None else weights
    weighted = list(zip(parts, np.split(weights, range(ROWS, len(table), ROWS)), strict=True))
    largest = max(float(np.abs(rows[w > 0]).max(initial=0)) for rows, w in weighted)
    if largest:
        shares = [w @ np.square(rows / largest).mean(axis=1) for rows, w in weighted]
        tried = largest * _steps(bits, 2 * np.sqrt(sum(shares) / weights.sum()))
    else:
        tried = np.zeros(1)
    errors = [sum(w @ _errors(rows, scale, bits) for rows, w in weighted) for scale in tried]
    scale = tried[int(np.argmin(errors))]
    moments = [np.stack(_moments(rows, scale, bits)) @ w for rows, w in weighted]
    return _fitted(*np.sum(moments, axis=0))


def scalar_codes(rows: np.ndarray, scale: Any, bits: int) -> np.ndarray:
    """The codes `q` of rows under a scale, uint8.

    >>> scalar_codes(np.array([-9.0, -0.4, 0.6]), 1.0, 2).tolist()
    [0, 1, 2]
    """
    most = 2**bits - 1
    # A scale of 0 belongs to rows of zeros: every code gives 0 there.
    steps = rows / np.where(np.asarray(scale) > 0, scale, 1)
    return np.clip(np.rint(steps + most / 2), 0, most).astype(np.uint8)


def _parts(table: np.ndarray) -> list[np.ndarray]:
    return [table[start : start + ROWS] for start in range(0, len(table), ROWS)]


def _steps(bits: int, least: float = FRACTIONS[0]) -> np.ndarray:
    """Scales to try, as shares of the largest entry, that clip at `least` of it or more."""
    fractions = FRACTIONS
    if least < fractions[0]:
        apart = fractions[1] / fractions[0]
        more = 1 + int(np.log(fractions[0] / max(least, 1e-9)) / np.log(apart))
        fractions = np.concatenate([fractions[0] / apart ** np.arange(more, 0, -1), fractions])
    return 2 * fractions / (2**bits - 1)


def _units(rows: np.ndarray, scale: Any, bits: int) -> np.ndarray:
    """Values of entries in units of the scale."""
    return scalar_codes(rows, scale, bits) - (2**bits - 1) / 2


def _errors(rows: np.ndarray, scale: Any, bits: int) -> np.ndarray:
    """Squared error of each row, `(n,)`."""
    return np.sum(np.square(rows - scale * _units(rows, scale, bits)), axis=1)


def _moments(rows: np.ndarray, scale: Any, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Dot products of each row with its unscaled values, and of these with themselves, `(n,)`."""
    units = _units(rows, scale, bits)
    return np.sum(rows * units, axis=1), np.sum(np.square(units), axis=1)


def _fitted(products: Any, squares: Any) -> np.ndarray:
    """The scale with the smallest squared error for given codes."""
    return np.asarray(products / squares, np.float32)  # no value is 0, so no square is
