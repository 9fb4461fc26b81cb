"""Low-rank embeddings: short vectors of the words, and one matrix that widens them."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.factored import FactoredForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.svd import low_rank_factors
from kerascompact.ops.unique import unique_ids


@register
class LowRankEmbedding(CompactEmbedding):
    """Looks up a short vector of the word and multiplies it by a shared matrix.

    `E[i] = U[i] W`, `U: (V, r)`, `W: (r, d)`; the `(V, d)` table is never formed.

    `W` starts so that the entries of `U W` have the variance that `embeddings_initializer` gives
    those of `U`: the layer starts where an `Embedding` of the same initializer does.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        rank: Inner width `r`, `1 <= r <= d`. `LowRankEmbedding.rank_for` gives the rank for a
            share of the full table's parameters.
        kernel_initializer: Initializer of `W`. Default: uniform with variance `1 / r`.
        **kwargs: `embeddings_initializer` (of `U`), `embeddings_regularizer` (of `U` and `W`),
            `weights` (`U W` is the nearest table of rank `r`), `mask_zero` and those of
            `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `32 r (V + d)` bits.
    Raises: ValueError, if `rank` is not in `[1, d]` or another argument is wrong.
    Example:
    >>> layer = LowRankEmbedding(10_000, 64, rank=8)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])
    >>> sum(array.total_bits for array in layer.to_form().storage())
    2576384

    Reference: [Sainath et al., ICASSP 2013](https://doi.org/10.1109/ICASSP.2013.6638949), the
    low-rank baseline of [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 4;
    [Lan et al., ICLR 2020](https://arxiv.org/abs/1909.11942), sec. 3.1.
    """

    EXAMPLE = dict(input_dim=20, output_dim=8, rank=3)
    UNCONSTRAINED = "its vectors are products of two weights"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        rank: int,
        *,
        kernel_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.rank = checks.integer_in("rank", rank, 1, self.output_dim)
        if kernel_initializer is None:
            kernel_initializer = keras.initializers.VarianceScaling(1.0, "fan_in", "uniform")
        self.kernel_initializer = keras.initializers.get(kernel_initializer)

    @staticmethod
    def rank_for(input_dim: int, output_dim: int, ratio: float) -> int:
        """The largest rank with at most `ratio` times the full table's parameters, at least 1.

        `r = floor(ratio V d / (V + d))`. It gives every number of parameters in Tables 1 and 2 of
        Chen et al. and the 2x column of their Table 3; the 4x column there is that of `r = d / 4`.

        >>> LowRankEmbedding.rank_for(10_000, 200, ratio=1 / 10)
        19

        Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 4.
        """
        checks.integer_in("input_dim", input_dim, 1)
        checks.integer_in("output_dim", output_dim, 1)
        ratio = checks.number("ratio", ratio, above=0, up_to=1)
        exact = ratio * input_dim * output_dim / (input_dim + output_dim)
        return max(int(exact + 1e-9), 1)  # 1 / 5 of 195 is 39, and not 38.999...

    def build(self, input_shape: Any = None) -> None:
        start, u, w = self.take_start(), None, self.kernel_initializer.clone()
        if start is not None:
            u, kernel = low_rank_factors(start, self.rank)
            w = given(kernel)
        self.u = self.add_vectors("u", (self.input_dim, self.rank), u)
        self.w = self.add_weight(
            shape=(self.rank, self.output_dim),
            initializer=w,
            regularizer=self.embeddings_regularizer,
            dtype="float32",
            autocast=False,
            name="w",
        )

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        return tf.gather(tf.matmul(tf.gather(self.u.value, unique), self.w.value), inverse)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """`(h W^T) U^T`, without the table `U W`."""
        flat = tf.reshape(hidden, [-1, self.output_dim])
        narrow = tf.matmul(flat, self.w.value, transpose_b=True)
        logits = tf.matmul(narrow, self.u.value, transpose_b=True)
        return reshape_as(logits, hidden[..., 0], self.input_dim)

    def to_form(self) -> FactoredForm:
        self.check_built()
        part = DenseForm.from_arrays(
            {"table": checks.finite("u", self.u.numpy())},
            input_dim=self.input_dim,
            output_dim=self.rank,
        )
        kernel = checks.finite("w", self.w.numpy())
        return FactoredForm.from_parts(part, kernel, **self.form_config())

    def paper_bits(self) -> int:
        return 32 * self.rank * (self.input_dim + self.output_dim)

    def get_config(self) -> dict[str, Any]:
        initializer = keras.initializers.serialize(self.kernel_initializer)
        return {**super().get_config(), "rank": self.rank, "kernel_initializer": initializer}
