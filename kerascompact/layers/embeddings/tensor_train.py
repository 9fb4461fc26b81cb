"""Tensor-train (TT) embeddings: a word's vector is a product of small matrices."""

import math
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.forms.tensor_train import TensorTrainForm, read_shape
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops import tensor_train
from kerascompact.ops.row_logits import row_logits
from kerascompact.ops.tensor_train_svd import tensor_train_svd
from kerascompact.ops.unique import unique_ids


@register
class TensorTrainEmbedding(CompactEmbedding):
    """Looks up one matrix in each of several small cores, and multiplies the matrices.

    `E[i] = G_0[i_0] G_1[i_1] G_2[i_2]`, the digits `i_0 i_1 i_2` of id `i` in the bases `v_k`,
    `G_k: (v_k, r_k, d_k, r_{k+1})`, `r_0 = r_3 = 1`: the table as a tensor
    `(v_0 d_0, v_1 d_1, ...)` in the tensor train format. Words with a common digit share the
    matrix of that core.

    Cores start normal, so that the entries of `E` have the variance of `embeddings_initializer`, as
    in an `Embedding` with that initializer.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        rank: Rank `r_1 = r_2 = ...`, or a list of ranks. `TensorTrainEmbedding.rank_for` gives the
            rank for a share of the full table's parameters.
        num_cores: Number of cores, 2 or more.
        id_factors: Bases `v_k`, whose product is at least `V`. Default: as equal as possible.
        width_factors: Factors `d_k`, whose product is `d`. Default: as equal as possible.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer` (of the cores), `weights`
            (cores by TT-SVD), `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `32 sum_k v_k r_k d_k r_{k+1}` bits, the paper's count.
    Raises: ValueError, if sizes do not fit `V` and `d`, or another argument is wrong.
    Example:
    >>> layer = TensorTrainEmbedding(10_000, 64, rank=8)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])
    >>> sum(array.total_bits for array in layer.to_form().storage())
    224256

    Reference: [Hrinchuk et al., 2019](https://arxiv.org/abs/1901.10787), sec. 3.3 and 3.5.
    Differs: one initializer for all cores, of the wanted variance of `E`.
    """

    EXAMPLE = dict(input_dim=20, output_dim=8, rank=3)
    UNCONSTRAINED = "its vectors are products of several weights"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        rank: Any,
        *,
        num_cores: int = 3,
        id_factors: Any = None,
        width_factors: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.num_cores = checks.integer_in("num_cores", num_cores, 2, 8)
        if not isinstance(rank, list | tuple):
            rank = checks.integer_in("rank", rank, 1)
        self.rank = rank
        self.id_factors, self.width_factors = id_factors, width_factors
        self.shape = read_shape(
            self.input_dim,
            self.output_dim,
            tensor_train.bases_for(self.input_dim, self.num_cores)
            if id_factors is None
            else id_factors,
            tensor_train.factors_of(self.output_dim, self.num_cores)
            if width_factors is None
            else width_factors,
            rank if isinstance(rank, list | tuple) else [rank] * (self.num_cores - 1),
        )

    @staticmethod
    def rank_for(input_dim: int, output_dim: int, ratio: float, num_cores: int = 3) -> int:
        """The largest rank with at most `ratio` times the full table's parameters, at least 1.

        >>> TensorTrainEmbedding.rank_for(10_000, 200, ratio=1 / 10)
        41
        """
        ratio = checks.number("ratio", ratio, above=0)
        rank = 1
        while TensorTrainEmbedding(
            input_dim, output_dim, rank + 1, num_cores=num_cores
        ).shape.size <= (ratio * input_dim * output_dim):
            rank += 1
        return rank

    def build(self, input_shape: Any = None) -> None:
        # The variance of a sum of `r_1 r_2 ...` products of one number from each core.
        with tf.init_scope():  # the first batch may build the layer inside a graph
            sample = self.embeddings_initializer.clone()((256, self.output_dim), "float32")
            variance = tf.reduce_mean(tf.square(sample)) / math.prod(self.shape.ranks)
            deviation = float(variance) ** (0.5 / len(self.shape.id_factors))
        start, cores = self.take_start(), None
        if start is not None:
            cores = tensor_train_svd(start, self.shape)
        self.cores = [
            self.add_weight(
                shape=shape,
                initializer=(
                    keras.initializers.RandomNormal(stddev=deviation)
                    if cores is None
                    else given(cores[k])
                ),
                regularizer=self.embeddings_regularizer,
                dtype="float32",
                autocast=False,
                name=f"core_{k}",
            )
            for k, shape in enumerate(self.shape.core_shapes)
        ]

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        first, *found = tensor_train.digits(unique, self.shape.id_factors)
        # Ids from `V` to the product of the factors have digits too: as of any table, an error.
        found = [tf.where(unique < self.input_dim, first, self.shape.id_factors[0]), *found]
        matrices = [
            tf.gather(core.value, digit) for core, digit in zip(self.cores, found, strict=True)
        ]
        return tf.gather(tensor_train.train_rows(matrices, self.shape), inverse)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        """Logits of the words of one first digit at a time, without forming the table."""
        flat = tf.reshape(hidden, [-1, self.output_dim])
        part = math.prod(self.shape.id_factors[1:])

        def rows_of(ids: tf.Tensor, cores: Sequence[tf.Tensor]) -> tf.Tensor:
            return tensor_train.rows_of_digit(ids[0] // part, cores, self.shape)

        cores = [tf.convert_to_tensor(core.value) for core in self.cores]
        logits = row_logits(flat, rows_of, part * self.shape.id_factors[0], cores, part)
        return reshape_as(logits[:, : self.input_dim], hidden[..., 0], self.input_dim)

    def to_form(self) -> TensorTrainForm:
        self.check_built()
        cores = [checks.finite(core.name, core.numpy()) for core in self.cores]
        config = {**self.form_config(), **self.shape._asdict()}
        return TensorTrainForm.from_cores(cores, self.input_dim, **config)

    def paper_bits(self) -> int:
        return 32 * self.shape.size

    def get_config(self) -> dict[str, Any]:
        own = {"rank": self.rank, "num_cores": self.num_cores}
        return {
            **super().get_config(),
            **own,
            "id_factors": self.id_factors,
            "width_factors": self.width_factors,
        }
