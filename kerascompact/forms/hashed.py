"""Hashed buckets: each id adds a few shared vectors that hash functions choose."""

from typing import Any

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.tables import PRECISIONS, at_most
from kerascompact.ops.hashing import hash_ids
from kerascompact.ops.vocabulary_chunks import columns_in_chunks, id_range, unknown_zero


@register
class HashedForm(Form):
    """Adds the vectors of the buckets that id `i` hashes to, each times a weight of the id.

    `E[i] = sum_j p_ij B[h_j(i)]`, with `B: (b, d)` and `p: (V, k)`, or without `p`. The hash
    functions are arithmetic on the id (`ops.hashing`), so no index is stored.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        output_dim: Embedding width `d`, in numbers.
        num_buckets: Number of shared vectors `b`.
        num_hashes: Buckets per id, `k`.
        importance: Whether each id has weights `p`.
        seed: Seed of the hash functions, which use `seed, seed + 1, ...`.
        precision: Type of `B` and `p`: "float32", "int8" or "int4"; integers have a float32 scale
            for each column.
        **kwargs: Further arguments of `Form`, such as `mask_zero`.

    Shapes: ids `(...)` -> vectors `(..., d)`.
    Storage: in float32 `32 b d` bits, and `32 V k` for `p`; in int8 `8 b d + 32 d`, and
        `8 V k + 32 k`; in int4 with 4 in place of 8.
    Raises: ValueError, for a wrong argument or an id out of range.

    Example:
    >>> buckets = np.array([[1.0], [10.0], [100.0]])
    >>> form = HashedForm.from_arrays(
    ...     {"buckets": buckets}, input_dim=4, output_dim=1, num_buckets=3, num_hashes=1
    ... )
    >>> form(np.arange(4)).numpy().ravel().tolist()
    [1.0, 1.0, 10.0, 1.0]

    Reference: [Svenstrup et al., NeurIPS 2017](https://arxiv.org/abs/1709.03933), sec. 2.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_buckets: int,
        num_hashes: int = 2,
        importance: bool = False,
        seed: int = 0,
        precision: str = "float32",
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.num_buckets = checks.integer_in("num_buckets", num_buckets, 1, 2**31 - 1)
        self.num_hashes = checks.integer_in("num_hashes", num_hashes, 1)
        self.importance = checks.boolean("importance", importance)
        self.seed = checks.integer_in("seed", seed, 0)
        self.precision = checks.choice("precision", precision, PRECISIONS)

    def build(self, input_shape: Any = None) -> None:
        self.add_table("buckets", (self.num_buckets, self.output_dim), self.precision)
        if self.importance:
            self.add_table("weights_of_ids", (self.input_dim, self.num_hashes), self.precision)

    def _hashes(self, ids: tf.Tensor) -> list[tf.Tensor]:
        return [hash_ids(ids, self.seed + j, self.num_buckets) for j in range(self.num_hashes)]

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        rows = [self.raw_rows("buckets", bucket) for bucket in self._hashes(ids)]
        return self.with_scale("buckets", self._weighted(rows, ids))

    def _weighted(self, rows: list[tf.Tensor], ids: tf.Tensor) -> tf.Tensor:
        """Adds the rows `(..., m)` of all hash functions, times the weights of the ids."""
        if self.importance:
            weights = self.rows("weights_of_ids", ids)
            rows = [row * weights[..., j : j + 1] for j, row in enumerate(rows)]
        vectors = rows[0]
        for row in rows[1:]:
            vectors += row
        return vectors

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Computes `sum_j p_vj s[h_j(v)]` from the scores `s_b = h . B[b]` of all buckets."""
        flat = self.with_scale("buckets", tf.reshape(hidden, [-1, self.output_dim]))
        # Gathered, as in `lookup`: the file stores a second table for any other use.
        table = self.raw_rows("buckets", id_range(unknown_zero(hidden), self.num_buckets))
        scores = tf.matmul(table, flat, transpose_b=True)  # (b, n)

        def columns_of(ids: tf.Tensor) -> tf.Tensor:
            rows = [tf.gather(scores, bucket) for bucket in self._hashes(ids)]
            return tf.transpose(self._weighted(rows, ids))

        logits = columns_in_chunks(columns_of, self.input_dim, hidden)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def quantized(self, precision: str) -> "HashedForm":
        if at_most(self.precision, precision):
            return self
        arrays = self.quantized_table("buckets", precision)
        if self.importance:
            arrays |= self.quantized_table("weights_of_ids", precision)
        return HashedForm.from_arrays(arrays, **{**self.get_config(), "precision": precision})

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_buckets": self.num_buckets,
            "num_hashes": self.num_hashes,
            "importance": self.importance,
            "seed": self.seed,
            "precision": self.precision,
        }
