"""Scalar quantization of a trained table."""

from typing import Any

import numpy as np

from kerascompact.compress.base import Compressor
from kerascompact.forms.dense import DenseForm


class ScalarQuantization(Compressor):
    """Stores each entry of a table as one byte.

    `E[i, j] ~ s[j] q[i, j]`, `q` int8 in [-127, 127], `s[j] = max_i |E[i, j]| / 127`: an entry is
    off by at most `s[j] / 2`.

    Storage: `8 V d + 32 d` bits.

    >>> form = ScalarQuantization().fit(np.array([[1.0, 0.5], [-1.0, 0.25]]))
    >>> form(np.array([0])).numpy().round(3).tolist()
    [[1.0, 0.5]]

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), sec. 2.1. Differs:
    symmetric, with a scale for each column.
    """

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> DenseForm:
        rows, columns = table.shape
        dense = DenseForm.from_arrays({"table": table}, input_dim=rows, output_dim=columns, **form)
        return dense.quantized("int8")
