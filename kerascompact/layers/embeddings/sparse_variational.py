"""Sparse variational dropout (SparseVD) of an embedding: learned noise in every entry."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.sparse_table import rows_with_zeros
from kerascompact.layers.embeddings.variational import VariationalEmbedding
from kerascompact.ops.unique import row_numbers, unique_ids
from kerascompact.ops.variational import log_alpha_of, log_uniform_kl, normal_noise
from kerascompact.ops.vocabulary_chunks import rows_in_chunks


@register
class SparseVariationalEmbedding(VariationalEmbedding):
    """Looks up a row in whose entries training has found signal; the others become zeros.

    Every entry has a posterior `N(T[i, j], sigma_ij^2)`. In training a row is a sample of it, drawn
    once for each different id of a batch, and the loss gets
    `kl_weight * sum_ij KL(alpha_ij)`, `alpha = sigma^2 / T^2`, the less the noisier an entry is.
    Afterwards `E[i, j] = T[i, j]` where `log alpha_ij < threshold`, and 0 elsewhere.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        kl_weight: Weight of the divergence; the larger, the fewer entries. 1 / (number of training
            texts) gives the variational bound.
        warmup: Number of steps in which the weight rises linearly from 0.
        threshold: Threshold of `log alpha`; entries at or above it are 0.
        log_variance_initializer: Initializer of `log sigma^2`. Default: -10.
        charge: Which words a step charges: those of the "batch", for all steps since they last
            paid, or "all", as in the paper, see `VariationalVocabularyEmbedding`. "all" costs a
            pass over the whole table and its variances.
        seed: Seed of the noise.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer` and `embeddings_constraint` (of
            `T`), `weights` (entries below the noise at the start are 0), `mask_zero` and those of
            `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: for `n` entries that are left `32 n` bits (the paper's count), `8 n` for their columns,
        16 n above 256, and about `9 V` for the rows, or less if many are zeros; never more than
        `32 V d`.
    Raises: ValueError, for a wrong argument.
    Example:
    >>> layer = SparseVariationalEmbedding(10_000, 64, kl_weight=1e-4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])

    Reference: [Chirkova et al., EMNLP 2018](https://arxiv.org/abs/1810.10927), sec. 3.1;
    [Molchanov et al., ICML 2017](https://arxiv.org/abs/1701.05369), eq. 14.
    Differs: of an embedding only, where the papers make all weights of a model sparse; unless
    `charge="all"` a word pays when a batch has it, for all steps since it last paid; words never
    met are dropped.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, kl_weight=1e-3)

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        kl_weight: float,
        *,
        log_variance_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, kl_weight, **kwargs)
        if log_variance_initializer is None:
            log_variance_initializer = keras.initializers.Constant(-10.0)
        self.log_variance_initializer = keras.initializers.get(log_variance_initializer)

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        shape = (self.input_dim, self.output_dim)
        start = self.log_variance_initializer.clone()
        self.log_variance = self.add_rows("log_variance", shape, start)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        if not self.draws(training):
            return tf.gather(self.kept_rows(unique), inverse)
        # One sample per place of the batch; the distinct ids take the first ones.
        numbers = row_numbers(unique, inverse)
        rows, divergence = self.sample(unique, numbers, tf.size(ids))
        self.add_divergence(unique, inverse, divergence)
        return tf.gather(rows, inverse)

    def sample(
        self, unique: tf.Tensor, numbers: tf.Tensor, count: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Rows drawn from the posterior, `(n, d)`, and their words' divergences, `(n,)`."""
        mean = tf.gather(self.table.value, unique)
        log_variance = tf.gather(self.log_variance.value, unique)
        noise = normal_noise(tf.stack([count, self.output_dim]), self.noise)
        rows = mean + tf.exp(0.5 * log_variance) * tf.gather(noise, numbers)
        divergence = log_uniform_kl(log_alpha_of(mean, log_variance))
        return rows, tf.reduce_sum(divergence, axis=-1)

    def divergences(self) -> tf.Tensor:
        log_variance = tf.convert_to_tensor(self.log_variance.value)
        log_alpha = log_alpha_of(tf.convert_to_tensor(self.table.value), log_variance)
        return tf.reduce_sum(log_uniform_kl(log_alpha), axis=-1)

    def kept_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """The rows `(n, d)` of ids `(n,)` after training."""
        mean = tf.gather(self.table.value, ids)
        log_alpha = log_alpha_of(mean, tf.gather(self.log_variance.value, ids))
        kept = tf.logical_and(log_alpha < self.threshold, tf.expand_dims(self.met(ids), -1))
        return tf.where(kept, mean, 0.0)

    def rows(self) -> np.ndarray:
        """The table after training, zeros included, `(V, d)`."""
        self.check_built()
        for weight in self.weights:  # also of a frozen layer: comparisons would drop NaN
            checks.finite(weight.name, weight.numpy())
        return rows_in_chunks(self.kept_rows, self.input_dim, "float32")

    def to_form(self) -> Form:
        return rows_with_zeros(self.rows(), **self.form_config())

    def paper_bits(self) -> int:
        return 32 * int(np.count_nonzero(self.rows()))

    def get_config(self) -> dict[str, Any]:
        start = keras.initializers.serialize(self.log_variance_initializer)
        return {**super().get_config(), "log_variance_initializer": start}
