"""Variational vocabulary dropout (VVD): learned noise shows which words can be dropped."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.remapped import RemappedForm
from kerascompact.layers.embeddings.variational import VariationalEmbedding
from kerascompact.ops.unique import unique_ids
from kerascompact.ops.variational import limited, log_uniform_kl, normal_noise


@register
class VariationalVocabularyEmbedding(VariationalEmbedding):
    """Looks up a word's vector with noise whose variance each word learns; drops noisy words.

    In training `e = T[i] * (1 + sqrt(alpha_i) z)`, `z ~ N(0, I)` drawn for each token, with
    `T: (V, d)` and `alpha: (V,)`; the loss gets `kl_weight * sum_i KL(alpha_i)`, which is smaller
    for noisier words. Afterwards `E[i] = T[i]` where `log alpha_i < threshold`, and 0 for all
    other words, whose drop rate `alpha / (1 + alpha)` is above 95 %.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        kl_weight: Weight of the divergence; the larger, the fewer words. 1 / (number of training
            texts) gives the variational bound.
        warmup: Number of steps in which the weight rises linearly from 0.
        threshold: Threshold of `log alpha`; words at or above it are dropped. It may be changed
            after training.
        log_alpha_initializer: Initializer of `log alpha`. Default: uniform in [0, 3], as in the
            paper's code. In a short training that draw stays in the ranking of rare words: of
            AG News' words the 3,000 with the least noise, trained anew, had 0.806 on dev from it,
            0.851 from "zeros", and 0.868 with `log_alpha` trained by `LazySGD` besides (one seed,
            `charge="all"`).
        charge: Which words a step charges: those of the "batch", for all steps since they last
            paid, or "all", as in the paper. Adam makes a step of one size of a charge of any size,
            so that with "batch" words that occur seldom keep little noise; "all" costs a pass over
            `log alpha`, `V` numbers.
        seed: Seed of the noise.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer`, `embeddings_constraint`,
            `weights` (training keeps more of them with a lower `log_alpha_initializer`),
            `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `32 n d` bits for `n` words that are left (the paper's count), and their set of ids:
        about `min(1.25 V, 8 n + V / 16)`.
    Raises: ValueError, for a wrong argument.
    Example:
    >>> layer = VariationalVocabularyEmbedding(10_000, 64, kl_weight=1e-4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])

    Reference: [Chen et al., NAACL 2019](https://arxiv.org/abs/1902.10339), sec. 3; the divergence
    is that of [Molchanov et al., ICML 2017](https://arxiv.org/abs/1701.05369), eq. 14.
    Differs: unless `charge="all"` a word pays when a batch has it, for all steps since it last
    paid, instead of all words at each step; words that training never meets are dropped. The
    paper's code draws one `z` for all tokens of a text.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, kl_weight=1e-3)

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        kl_weight: float,
        *,
        log_alpha_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, kl_weight, **kwargs)
        if log_alpha_initializer is None:
            log_alpha_initializer = keras.initializers.RandomUniform(0.0, 3.0)
        self.log_alpha_initializer = keras.initializers.get(log_alpha_initializer)

    def build(self, input_shape: Any = None) -> None:
        super().build(input_shape)
        draw = self.log_alpha_initializer.clone()
        self.log_alpha = self.add_rows("log_alpha", (self.input_dim,), draw)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        rows = tf.gather(self.table.value, ids)
        if not self.draws(training):
            return tf.where(tf.expand_dims(self.is_kept(ids), -1), rows, 0.0)
        unique, inverse = unique_ids(ids, self.input_dim)
        log_alpha = limited(tf.gather(self.log_alpha.value, unique))
        self.add_divergence(unique, inverse, log_uniform_kl(log_alpha))
        deviation = tf.expand_dims(tf.exp(0.5 * tf.gather(log_alpha, inverse)), -1)
        return rows * (1 + deviation * normal_noise(tf.shape(rows), self.noise))

    def divergences(self) -> tf.Tensor:
        return log_uniform_kl(limited(tf.convert_to_tensor(self.log_alpha.value)))

    def is_kept(self, ids: tf.Tensor) -> tf.Tensor:
        """Which ids have a vector after training: bool, of the shape of `ids`."""
        below = tf.gather(self.log_alpha.value, ids) < self.threshold
        return tf.logical_and(below, self.met(ids))

    def kept_ids(self) -> np.ndarray:
        """Ids of the words that are left, ascending, for a `SelectedEmbedding`."""
        self.check_built()
        return np.flatnonzero(self.is_kept(tf.range(self.input_dim)))

    def to_form(self) -> RemappedForm:
        self.check_built()
        checks.finite("log_alpha", self.log_alpha.numpy())
        kept = self.is_kept(tf.range(self.input_dim)).numpy()
        table = checks.finite("table", self.table.numpy()) * kept[:, None]
        return RemappedForm.from_table(table, **self.form_config())

    def paper_bits(self) -> int:
        return 32 * len(self.kept_ids()) * self.output_dim

    def get_config(self) -> dict[str, Any]:
        start = keras.initializers.serialize(self.log_alpha_initializer)
        return {**super().get_config(), "log_alpha_initializer": start}
