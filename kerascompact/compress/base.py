"""Base class of post-training compressors."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.forms.base import Form


class Compressor:
    """Base class: turns a trained embedding table into a stored form, by `fit`.

    A subclass defines `compress(table, counts, **form)`, which `fit` calls with a checked table. A
    subclass that takes long shows a progress bar if its `verbose` is true.

    Example:
    >>> from kerascompact.compress import ScalarQuantization
    >>> ScalarQuantization(bits=4).fit(np.eye(3))(np.array([2])).numpy().tolist()
    [[0.0, 0.0, 1.0]]

    Reference: none; each subclass names the paper of its method.
    """

    verbose = False

    def fit(self, table: Any, counts: Any = None, **form: Any) -> Form:
        """Compresses a table.

        Args:
            table: `(V, d)` floats: an array, or the weights of a `keras.layers.Embedding`.
            counts: How often each word occurs, `(V,)`, to weight the errors by frequency;
                `None` weights all words equally.
            **form: Arguments of the form, such as `name` and `mask_zero`.

        Returns: A form with `input_dim` V and `output_dim` d.

        Raises: ValueError, if the table is no finite matrix, counts do not fit it, or the table is
            too small for the method's sizes.
        """
        return self.compress(*self.checked(table, counts), **form)

    @staticmethod
    def checked(table: Any, counts: Any = None) -> tuple[np.ndarray, np.ndarray | None]:
        """Returns a float32 copy of a table, and its counts in float64.

        Raises: ValueError, if the table is no finite matrix, or counts do not fit it.
        """
        table = np.asarray(table)
        if table.dtype.name == "bfloat16":  # of weights; no NumPy type
            table = table.astype(np.float32)
        if table.ndim != 2 or 0 in table.shape or not np.issubdtype(table.dtype, np.floating):
            raise ValueError(
                "`table` must be a matrix (V, d) of floats. "
                f"Received: an array of shape {table.shape} and type {table.dtype}."
            )
        with np.errstate(over="ignore"):  # numbers beyond float32 are reported as infinite
            table = checks.finite("table", np.array(table, np.float32, order="C"))
        return table, None if counts is None else checked_counts(counts, len(table))

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> Form:
        """Compresses a checked table; raises `ValueError`, if the method cannot compress it."""
        raise NotImplementedError(f"{type(self).__name__} must define `compress`.")

    def steps(self, count: int, what: str) -> Iterable[int]:
        """`range(count)`, with a progress bar if `verbose`."""
        if not self.verbose:
            return range(count)
        from rich.progress import track

        return track(range(count), description=what)


def in_units(table: np.ndarray) -> tuple[np.ndarray, np.float32]:
    """A table in units of a power of two, in which its largest entry is in [1, 2), and the unit.

    Squares of very small or large numbers are out of range, and thresholds of solvers are absolute;
    a power of two changes no digit.

    >>> points, unit = in_units(np.array([[6.0, -2.0]], "float32"))
    >>> points.tolist(), float(unit)
    ([[1.5, -0.5]], 4.0)
    """
    unit = np.ldexp(np.float32(1), np.frexp(np.abs(table).max())[1] - 1)
    return table / unit, unit


def checked_counts(counts: Any, rows: int) -> np.ndarray:
    """Counts of the words of a table, `(rows,)` float64.

    Raises: ValueError, if they are not one finite number >= 0 for each row, or all 0.

    >>> checked_counts([2, 0], 2)
    array([2., 0.])
    """
    found = checks.finite("counts", np.asarray(counts, np.float64))
    if found.shape != (rows,) or found.min() < 0 or not found.any():
        raise ValueError(
            f"`counts` must be {rows} numbers >= 0, one per row, not all 0. "
            f"Received: an array of shape {found.shape}."
        )
    return found
