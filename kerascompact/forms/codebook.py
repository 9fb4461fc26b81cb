"""One packed code per id, pointing into a small codebook."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.base import PRECISIONS, Form
from kerascompact.ops import bits


@register
class CodebookForm(Form):
    """Looks up the vector that the code of id `i` points to.

    `E[i] = codebook[c_i]`, with the codes `c_i` in `[0, k)` packed at exactly `ceil(log2 k)` bits.

    Args:
        input_dim: Vocabulary size `V`.
        output_dim: Embedding width `d`.
        cardinality: Number of codebook rows `k`, 2 to 65,536.
        precision: "float32" or "int8", the type of the codebook's rows.
        **kwargs: Those of `Form`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `V ceil(log2 k) + 32 k d` bits; with int8 `V ceil(log2 k) + 8 k d + 32 d`.
    Raises: ValueError, for a wrong argument, a code not below `k`, or an id out of range.

    >>> form = CodebookForm.from_codes(np.array([1, 0, 1]), np.eye(2))
    >>> form(np.array([0, 1])).numpy().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**bits.MAX_BITS)
        self.precision = checks.choice("precision", precision, PRECISIONS)
        self.code_bits = code_bits(self.cardinality)
        # Positions in the stream are int32 bit numbers, on the phone as here.
        checks.integer_in("input_dim", self.input_dim, 1, 2**31 // self.code_bits - 1)

    @classmethod
    def from_codes(cls, codes: np.ndarray, codebook: np.ndarray, **config: Any) -> "CodebookForm":
        """Packs `codes` `(V,)` over the rows of a float `codebook` `(k, d)`."""
        codes, codebook = np.asarray(codes), checks.finite("codebook", np.asarray(codebook))
        cardinality, output_dim = codebook.shape
        checks.ids_below("codes", codes, cardinality)
        stream = bits.pack(codes, code_bits(cardinality))
        return cls.from_arrays(
            {"codes": stream, "codebook": codebook},
            input_dim=codes.size,
            output_dim=output_dim,
            cardinality=cardinality,
            **config,
        )

    def build(self, input_shape: Any = None) -> None:
        stream = (bits.stream_bytes(self.input_dim, self.code_bits),)
        self.add_array("codes", stream, "uint8", stored=((self.input_dim,), self.code_bits))
        self.add_table("codebook", (self.cardinality, self.output_dim), self.precision)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        return self.rows("codebook", bits.unpack(self.codes.value, ids, self.code_bits))

    def quantized(self) -> "CodebookForm":
        if self.precision == "int8":
            return self
        config = {**self.get_config(), "precision": "int8"}
        arrays = {"codes": self.codes.numpy(), **self.quantized_table("codebook")}
        return CodebookForm.from_arrays(arrays, **config)

    def get_config(self) -> dict[str, Any]:
        config = {"cardinality": self.cardinality, "precision": self.precision}
        return {**super().get_config(), **config}
