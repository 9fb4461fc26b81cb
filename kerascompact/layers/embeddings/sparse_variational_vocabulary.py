"""SparseVD-Voc embeddings: sparse variational dropout that can drop words entirely."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core.registration import register
from kerascompact.layers.embeddings.sparse_variational import SparseVariationalEmbedding
from kerascompact.ops.variational import log_alpha_of, log_uniform_kl, normal_noise


@register
class SparseVariationalVocabularyEmbedding(SparseVariationalEmbedding):
    """`SparseVariationalEmbedding` with a multiplier for each word, which has noise of its own.

    `E[i] = z_i W[i]`, `z: (V,)` starting at 1, `W: (V, d)`. Both have normal posteriors; the loss
    gets the divergences of both. A word whose multiplier is noise, `log alpha >= threshold`, is
    dropped entirely; other words keep their entries that are not noise, times `z_i`.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        kl_weight: Weight of both divergences; the larger, the fewer words and entries.
        log_variance_initializer: Initializer of `log sigma^2` of `W`, default: -10. Multipliers
            start at -5.
        **kwargs: Further arguments of `SparseVariationalEmbedding`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: that of `SparseVariationalEmbedding`; the multipliers are multiplied in.
    Raises: ValueError, for a wrong argument.
    Example:
    >>> layer = SparseVariationalVocabularyEmbedding(10_000, 64, kl_weight=1e-4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])

    Reference: [Chirkova et al., EMNLP 2018](https://arxiv.org/abs/1810.10927), sec. 3.2.
    Differs: as `SparseVariationalEmbedding`.
    """

    UNCONSTRAINED = "its rows are multiplied by the words' multipliers"

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        shape = (self.input_dim,)
        self.multiplier = self.add_rows("multiplier", shape, "ones")
        # As noisy, relative to a mean of 1, as entries are relative to their small means.
        start = keras.initializers.Constant(-5.0)
        self.multiplier_log_variance = self.add_rows("multiplier_log_variance", shape, start)

    def sample(
        self, unique: tf.Tensor, numbers: tf.Tensor, count: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        rows, divergence = super().sample(unique, numbers, count)
        mean, log_variance = self._multipliers(unique)
        noise = tf.gather(normal_noise(tf.stack([count]), self.noise), numbers)
        drawn = mean + tf.exp(0.5 * log_variance) * noise
        own = log_uniform_kl(log_alpha_of(mean, log_variance))
        return rows * tf.expand_dims(drawn, -1), divergence + own

    def divergences(self) -> tf.Tensor:
        own = log_alpha_of(
            tf.convert_to_tensor(self.multiplier.value),
            tf.convert_to_tensor(self.multiplier_log_variance.value),
        )
        return super().divergences() + log_uniform_kl(own)

    def kept_rows(self, ids: tf.Tensor) -> tf.Tensor:
        mean, log_variance = self._multipliers(ids)
        kept = log_alpha_of(mean, log_variance) < self.threshold
        return super().kept_rows(ids) * tf.expand_dims(tf.where(kept, mean, 0.0), -1)

    def _multipliers(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        both = (self.multiplier, self.multiplier_log_variance)
        mean, log_variance = (tf.gather(weight.value, ids) for weight in both)
        return mean, log_variance

    def kept_ids(self) -> np.ndarray:
        """Ids of the words that are left, ascending, for a `SelectedEmbedding`."""
        return np.flatnonzero(np.any(self.rows() != 0, axis=1))
