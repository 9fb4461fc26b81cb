"""Packed table: every entry is a code of 1 to 8 bits."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.ops import bits as packed
from kerascompact.ops.vocabulary_chunks import columns_in_chunks


@register
class PackedTableForm(Form):
    """Looks up a row of packed integers and spreads their values evenly around zero.

    `E[i, j] = s (q_ij - (2^b - 1) / 2)`, with `q_ij` in `[0, 2^b - 1]` packed at exactly `b` bits.
    None of the `2^b` values is zero.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        bits: Bits `b` of an entry, 1 to 8.
        scale: "row" for a float32 scale `s` per row, "table" for one scale.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `V d b + 32 V` bits with a scale per row, `V d b + 32` with one; `stored_as` changes
        nothing.
    Raises: ValueError, for a wrong argument, a code not below `2^b`, or an id out of range.

    Example:
    >>> codes = np.array([[0, 1, 2, 3]])
    >>> PackedTableForm.from_codes(codes, np.array(2.0), bits=2)(np.array([0])).numpy()
    array([[-3., -1.,  1.,  3.]], dtype=float32)

    Reference: [Jacob et al., CVPR 2018](https://arxiv.org/abs/1712.05877), eq. 1. Differs: no zero
    point is stored.
    """

    def __init__(
        self, input_dim: int, output_dim: int, bits: int, scale: str = "row", **kwargs: Any
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.bits = checks.integer_in("bits", bits, 1, 8)
        self.scale = checks.choice("scale", scale, ("row", "table"))
        # Bit positions in the stream are int32 numbers, here and on the phone.
        longest = max(1, 2**31 // (self.bits * self.output_dim) - 1)
        checks.integer_in("input_dim", self.input_dim, 1, longest)

    @classmethod
    def from_codes(
        cls, codes: np.ndarray, scales: np.ndarray, bits: int, **config: Any
    ) -> "PackedTableForm":
        """Packs codes `(V, d)`.

        Args:
            codes: Integers in `[0, 2^b)`, `(V, d)`.
            scales: One scale for each row, `(V,)`, or one for all rows, `()`.
            bits: Bits `b` of an entry.
            **config: Further arguments of the form.

        Raises: ValueError, if the shapes do not fit.
        """
        codes, scales = np.asarray(codes), checks.finite("scales", np.asarray(scales))
        if codes.ndim != 2 or scales.shape not in ((), codes.shape[:1]):
            raise ValueError(
                "`codes` must be a matrix (V, d), and `scales` (V,) or (). "
                f"Received: the shapes {codes.shape} and {scales.shape}."
            )
        config = {"scale": "row" if scales.ndim else "table", **config}
        arrays = {"codes": packed.pack_rows(codes, bits), "scales": scales}
        rows, columns = codes.shape
        return cls.from_arrays(arrays, input_dim=rows, output_dim=columns, bits=bits, **config)

    def build(self, input_shape: Any = None) -> None:
        size = packed.rows_bytes(self.input_dim, self.output_dim, self.bits)
        entries = (self.input_dim, self.output_dim)
        self.add_array("codes", (size,), "uint8", stored=(entries, self.bits))
        self.add_array("scales", entries[:1] if self.scale == "row" else (), "float32")

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        codes = packed.unpack_rows(self.codes.value, ids, self.bits, self.output_dim)
        scale = self.scales.value
        if self.scale == "row":
            scale = tf.expand_dims(tf.gather(scale, ids), -1)
        return scale * (tf.cast(codes, tf.float32) - (2**self.bits - 1) / 2)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes `s_v (h . q_v - (2^b - 1) / 2 sum(h))` from the unpacked codes."""
        flat = tf.reshape(hidden, [-1, self.output_dim])
        middle = (2**self.bits - 1) / 2 * tf.reduce_sum(flat, axis=-1, keepdims=True)

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            codes = packed.unpack_columns(self.codes.value, ids, self.bits, self.output_dim)
            found = tf.matmul(flat, tf.cast(codes, tf.float32)) - middle
            return found * tf.gather(self.scales.value, ids) if self.scale == "row" else found

        logits = columns_in_chunks(columns_of, self.input_dim, flat)
        logits = logits if self.scale == "row" else logits * self.scales.value
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def quantized(self, precision: str) -> "PackedTableForm":
        return self

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "bits": self.bits, "scale": self.scale}
