"""Report on a compressed table: its size, and its distance from the original."""

from typing import Any, NamedTuple

import numpy as np

from kerascompact.compress.base import checked_counts
from kerascompact.compress.tables import values_of
from kerascompact.core import checks
from kerascompact.core.storage import kib, total_bits
from kerascompact.forms.base import Form


class CompressionReport(NamedTuple):
    """Errors of the vectors and bits of the form; printing it gives two lines.

    Attributes:
        mean_squared_error: Mean squared error of an entry.
        relative_error: Squared error over the squared entries: 0 if exact, 1 for zeros.
        cosine: Mean cosine of a vector with the original, over the words that have a vector.
        stored_bits: Bits of the form.
        paper_bits: Bits by the formula of the method's paper.
        float32_bits: Bits of the table.
    """

    mean_squared_error: float
    relative_error: float
    cosine: float
    stored_bits: int
    paper_bits: int
    float32_bits: int

    @property
    def ratio(self) -> float:
        return self.float32_bits / self.stored_bits

    def __str__(self) -> str:
        return (
            f"relative squared error {self.relative_error:.4g} (mean {self.mean_squared_error:.3g} "
            f"per entry), mean cosine {self.cosine:.4f}\n"
            f"{kib(self.stored_bits):.2f} KiB stored ({self.stored_bits:,} bits; by the paper's "
            f"formula {self.paper_bits:,}), float32 {kib(self.float32_bits):.2f} KiB: "
            f"{self.ratio:.1f}x smaller"
        )


def report(table: Any, form: Form, counts: Any = None) -> CompressionReport:
    """Compares a form with the table it was made from.

    Args:
        table: Original table, `(V, d)` floats.
        form: Form that a compressor returned for it.
        counts: How often each word occurs, `(V,)`, to weight the errors by frequency.

    Returns: Errors and bits, see `compress.report.CompressionReport`.

    Raises: ValueError, if table, form and counts do not fit each other.

    >>> from kerascompact.compress import KMeansClusters
    >>> table = np.array([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0]])
    >>> found = report(table, KMeansClusters(2).fit(table))
    >>> round(found.relative_error, 4), round(found.cosine, 4)
    (0.1429, 1.0)
    """
    table = np.asarray(table, np.float32)
    if not isinstance(form, Form):
        checks.fail("form", "a stored form", form)
    if table.shape != (form.input_dim, form.output_dim):
        raise ValueError(
            f"`table` must have the shape of the form, {(form.input_dim, form.output_dim)}. "
            f"Received: {table.shape}."
        )
    weights = np.ones(len(table)) if counts is None else checked_counts(counts, len(table))
    table, vectors = table.astype(np.float64), values_of(form).astype(np.float64)
    lost = np.sum(np.square(table - vectors), axis=1)
    whole = np.sum(np.square(table), axis=1)
    found = np.sum(np.square(vectors), axis=1)
    some = (whole > 0) & (weights > 0)
    products: Any = np.sum(table * vectors, axis=1)
    norms: Any = np.sqrt(whole * np.where(found > 0, found, 1))
    cosines = products[some] / norms[some]
    stored = total_bits(form.storage())
    energy = weights @ whole
    return CompressionReport(
        mean_squared_error=float(weights @ lost / weights.sum() / table.shape[1]),
        relative_error=float(weights @ lost / energy) if energy else 0.0,
        cosine=float(np.average(cosines, weights=weights[some])) if some.any() else 1.0,
        stored_bits=stored,
        paper_bits=stored if form.paper_bits is None else form.paper_bits,
        float32_bits=32 * table.size,
    )
