"""Scalar quantization of a trained table."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.core import checks
from kerascompact.forms.base import Form
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.packed_table import PackedTableForm
from kerascompact.ops.scalar_codes import row_scales, scalar_codes, table_scale


class ScalarQuantization(Compressor):
    """Stores each entry of a table in a few bits.

    With a scale for each column (8 or 4 bits), `E[i, j] ~ s[j] q[i, j]`, `q` in [-127, 127] or
    [-7, 7], as `form.stored_as("int8")` does: with 8 bits `s[j] = max_i |E[i, j]| / 127`, so that
    an entry is off by at most `s[j] / 2`, and zero is exact.

    With a scale for each row or one for the table (1 to 8 bits), `E[i, j] ~ s (q - (2^b - 1) / 2)`,
    `q` in `[0, 2^b - 1]`, as `QuantizedEmbedding` does: `2^b` values around zero. Entries beyond
    the last value are clipped to it, which pays with few bits: among scales that clip at a tenth to
    all of the largest entry, the one with the smallest squared error is taken, then fitted to its
    codes by least squares.

    Args:
        bits: Bits of an entry, 1 to 8.
        scale: "column", "row" or "table": which entries share one float32 scale. Default: "column"
            for 8 and 4 bits, else "row". With "table", counts weight the errors.

    Storage: `b V d` bits and 32 for each scale.
    Raises: ValueError, if `bits` is not in `[1, 8]`, or not 8 or 4 with a scale for each column.

    >>> form = ScalarQuantization().fit(np.array([[1.0, 0.5], [-1.0, 0.25]]))
    >>> form(np.array([0])).numpy().round(3).tolist()
    [[1.0, 0.5]]
    >>> form = ScalarQuantization(bits=1, scale="table").fit(np.array([[1.0, 3.0], [-1.0, -3.0]]))
    >>> form(np.array([0])).numpy().round(3).tolist()
    [[2.0, 2.0]]

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 2.1. Differs:
    symmetric, without a zero point; the scale of rows and tables is searched for.
    """

    def __init__(self, bits: int = 8, scale: str | None = None) -> None:
        self.bits = checks.integer_in("bits", bits, 1, 8)
        if scale is None:
            scale = "column" if self.bits in (4, 8) else "row"
        self.scale = checks.choice("scale", scale, ("column", "row", "table"))
        if self.scale == "column" and self.bits not in (4, 8):
            checks.fail("bits", "4 or 8 with a scale for each column", bits)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> Form:
        if self.scale == "column":
            sizes = dict(input_dim=table.shape[0], output_dim=table.shape[1])
            dense = DenseForm.from_arrays({"table": table}, **sizes, **form)
            return dense.stored_as(f"int{self.bits}")
        if self.scale == "row":
            scales = row_scales(table, self.bits)
        else:
            scales = table_scale(table, self.bits, counts)
        codes = scalar_codes(table, scales if scales.ndim == 0 else scales[:, None], self.bits)
        return PackedTableForm.from_codes(codes, scales, bits=self.bits, **form)
