"""Codebooks: each id has packed codes, which select vectors from small codebooks."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.base import Form
from kerascompact.forms.packed_codes import add_codes, code_rows, read_codes
from kerascompact.forms.tables import PRECISIONS, at_most
from kerascompact.ops import bits
from kerascompact.ops.vocabulary_chunks import (
    MOST_GRAPH_CHUNKS,
    columns_in_chunks,
    id_range,
    unknown_zero,
)

MANY_CODES, CHUNKS_OF_MANY = 2**24, 64
# Vectors of a padded text from which on a runtime gains by leaving out those of padding, although
# it then plans memory anew for each text: 9 words of 32 with 16 codes take 0.8 times as long, 30 of
# 128 0.4 times, but 9 of 32 with 8 codes 1.1 times.
MANY_ROWS = 512


@register
class CodebookForm(Form):
    """Adds or concatenates the codebook vectors that the codes of id `i` select.

    `E[i] = sum_j W^j[c_i^j]` or `E[i] = [W^1[c_i^1]; ...; W^D[c_i^D]]`, with `D` codes `c_i^j` in
    `[0, K)` for each id, packed at exactly `ceil(log2 K)` bits.

    For one text, as on a phone, the lookup is one gather and one sum. For a batch, the vectors are
    added code by code, which needs no more memory than the result.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        cardinality: Vectors `K` in a codebook, 2 to 65,536.
        code_length: Codes `D` per id.
        combine: "sum" for vectors of width `d`, "concat" for vectors of width `d / D`.
        shared: Whether one codebook serves all positions.
        precision: Type of the codebooks: "float32", "int8" or "int4"; integers have a float32 scale
            for each column (with "concat", for each column of each codebook).
        scaled: Whether integers have scales; `False` if another form multiplies by them, see
            `unscaled`.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: `V D ceil(log2 K) + 32 M` bits for `M` numbers in the codebooks: `K D d` with "sum",
        `K d` with "concat", divided by `D` if one codebook is shared. Integers take `8 M + 32 d` or
        `4 M + 32 d` in place of `32 M` (`32 d / D` for the scales if shared with "concat").
    Raises: ValueError, for a wrong argument, a code not below `K`, or an id out of range.

    Example:
    >>> form = CodebookForm.from_codes(np.array([[1, 0], [0, 0]]), np.ones((2, 2, 3)))
    >>> form(np.array([0, 1])).numpy().tolist()
    [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 2.3 (sum);
    [Jegou et al., TPAMI 2011](https://hal.inria.fr/inria-00514462), sec. II.B (concat).
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        code_length: int = 1,
        combine: str = "sum",
        shared: bool = False,
        precision: str = "float32",
        scaled: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**bits.MAX_BITS)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.combine = checks.choice("combine", combine, ("sum", "concat"))
        self.shared = checks.boolean("shared", shared)
        self.precision = checks.choice("precision", precision, PRECISIONS)
        self.scaled = checks.boolean("scaled", scaled)
        self.code_bits = code_bits(self.cardinality)
        self.width = self.output_dim
        if combine == "concat":
            self.width = self.output_dim // self.code_length
            if self.width * self.code_length != self.output_dim:
                expected = f"a multiple of the {self.code_length} codes that are concatenated"
                checks.fail("output_dim", expected, output_dim)
        # Bit positions in the stream are int32 numbers, here and on the phone.
        longest = 2**31 // (self.code_bits * self.code_length) - 1
        checks.integer_in("input_dim", self.input_dim, 1, longest)

    @classmethod
    def from_codes(cls, codes: np.ndarray, codebooks: np.ndarray, **config: Any) -> "CodebookForm":
        """Packs codes and stores them with float codebooks.

        Args:
            codes: Integers in `[0, K)`, `(V,)` or `(V, D)`.
            codebooks: Float vectors `(D, K, d')`, or `(K, d')` for a codebook that is shared.
            **config: Further arguments of the form.

        Raises: ValueError, if codes and codebooks do not fit.
        """
        arrays, sizes = read_codes(codes, codebooks)
        if config.get("combine") == "concat":
            sizes["output_dim"] *= sizes["code_length"]
        return cls.from_arrays(arrays, **sizes, **config)

    @property
    def num_codebooks(self) -> int:
        """Number of stored codebooks: 1 if it is shared."""
        return 1 if self.shared else self.code_length

    def build(self, input_shape: Any = None) -> None:
        add_codes(self)
        # With "concat", each codebook has other columns of `E` and so scales of its own.
        beside = self.combine == "concat" and self.num_codebooks > 1
        self.scale_groups = self.num_codebooks if beside else None
        scales = (self.num_codebooks, self.width) if beside else (self.width,)
        rows = (self.num_codebooks * self.cardinality, self.width)
        self.add_table("codebook", rows, self.precision, scales if self.scaled else ())

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        if self.code_length == 1:
            return self.rows("codebook", bits.unpack(self.codes.value, ids, self.code_bits))
        if self.combine == "concat":
            beside = self.rows("codebook", code_rows(self, ids))  # (..., D, d / D)
            return reshape_as(beside, ids, self.output_dim)
        rows = code_rows(self, ids, codes_first=True)
        if ids.shape[:1] == [1]:
            vectors = tf.reduce_sum(self.raw_rows("codebook", rows), axis=0)
        else:
            vectors = self.raw_rows("codebook", rows[0])
            for position in range(1, self.code_length):
                vectors += self.raw_rows("codebook", rows[position])
        return self.with_scale("codebook", vectors)

    def means_faster(self, length: int | None) -> bool:
        return length is not None and length * self.code_length >= MANY_ROWS

    def mean_of(self, ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """Adds the codebook vectors of all words at once, and reads none of padding."""
        words = tf.gather_nd(ids, tf.where(mask))  # (m,)
        beside = self.combine == "concat"
        rows = code_rows(self, words, codes_first=not beside and self.code_bits not in (4, 8))
        vectors = self.raw_rows("codebook", rows)  # (m, D, d'), in any order if all are added
        added = tf.reduce_sum(vectors, 0 if beside else [0, 1])
        mean = added / tf.maximum(tf.cast(tf.shape(words), tf.float32), 1)
        return tf.reshape(self.with_scale("codebook", mean), [1, self.output_dim])

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes `sum_j s^j[c_v^j]` from the scores `s^j_k = h . W^j[k]` of all code vectors.

        This takes `n K D d` products and `n V D` additions instead of `n V d` products with a
        table. In TFLite, one vector over 10,000 words of 32 codes takes 3 ms; looking up all word
        vectors would take 40 ms.
        """
        scores = self.scores(tf.reshape(hidden, [-1, self.output_dim]))

        one_vector = hidden.shape.num_elements() == self.output_dim

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            beside = self.combine == "concat"
            if one_vector and self.code_bits == 8:  # bytes that are rows of codes already
                rows = code_rows(self, ids, beside=beside)
                found = tf.reduce_sum(tf.gather(tf.reshape(scores, [-1]), rows), axis=1)
                return tf.expand_dims(found, 0)
            rows = code_rows(self, ids, codes_first=True, beside=beside)
            if hidden.shape[:1] == [1]:  # one text: one gather and one sum
                found = tf.reduce_sum(tf.gather(scores, rows), axis=0)
            else:
                found = tf.gather(scores, rows[0])
                for position in range(1, self.code_length):
                    found += tf.gather(scores, rows[position])
            return tf.transpose(found)

        # More chunks where there are so many codes that those of a sixteenth leave the cache.
        many = self.code_length * self.input_dim > MANY_CODES
        most = CHUNKS_OF_MANY if many else MOST_GRAPH_CHUNKS
        logits = columns_in_chunks(columns_of, self.input_dim, hidden, most)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def scores(self, hidden: tf.Tensor) -> tf.Tensor:
        """Products of all code vectors with vectors `(n, d)`.

        The shape is `(D K, n)`, or `(K, n)` for a shared codebook with "sum".
        """
        rows = self.num_codebooks * self.cardinality
        # Gathered, as in `lookup`: the file stores a second table for any other use.
        table = self.raw_rows("codebook", id_range(unknown_zero(hidden), rows))
        if self.combine == "sum":
            return tf.matmul(table, self.with_scale("codebook", hidden), transpose_b=True)
        parts = tf.reshape(hidden, [-1, self.code_length, self.width])
        parts = tf.transpose(self.with_scale("codebook", parts), [1, 2, 0])  # (D, d / D, n)
        tables = tf.reshape(table, [self.num_codebooks, self.cardinality, self.width])
        scores = tf.matmul(tables, parts)  # (D, K, n)
        return tf.reshape(scores, [self.code_length * self.cardinality, -1])

    def quantized(self, precision: str) -> "CodebookForm":
        if at_most(self.precision, precision):
            return self
        config = {**self.get_config(), "precision": precision, "scaled": True}
        codebook = self.quantized_table("codebook", precision, self.scale_groups)
        return CodebookForm.from_arrays({"codes": self.codes.numpy(), **codebook}, **config)

    def unscaled(self) -> tuple[Form, np.ndarray | None]:
        if self.precision == "float32" or not self.scaled:
            return self, None
        arrays = {"codes": self.codes.numpy(), "codebook": self.codebook.numpy()}
        form = CodebookForm.from_arrays(arrays, **{**self.get_config(), "scaled": False})
        beside = self.output_dim // self.width
        return form, np.broadcast_to(self.codebook_scale.numpy(), (beside, self.width)).reshape(-1)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cardinality": self.cardinality,
            "code_length": self.code_length,
            "combine": self.combine,
            "shared": self.shared,
            "precision": self.precision,
            "scaled": self.scaled,
        }
