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
        checks.finite("table", table)
        if counts is not None:
            counts = checks.finite("counts", np.asarray(counts, np.float64))
            if counts.shape != table.shape[:1] or counts.min() < 0 or not counts.any():
                raise ValueError(
                    f"`counts` must be {len(table)} numbers >= 0, one per row, not all 0. "
                    f"Received: an array of shape {counts.shape}."
                )
        return np.array(table, np.float32, order="C"), counts

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> Form:
        """Compresses a checked table; raises `ValueError`, if the method cannot compress it."""
        raise NotImplementedError(f"{type(self).__name__} must define `compress`.")

    def steps(self, count: int, what: str) -> Iterable[int]:
        """`range(count)`, with a progress bar if `verbose`."""
        if not self.verbose:
            return range(count)
        from rich.progress import track

        return track(range(count), description=what)
