"""Dropout of entire words."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class EmbeddingDropout(keras.layers.Layer):
    """Drops entire words from the vectors of any embedding, at all their places.

    `y = m_i E[i] / (1 - p)` in training, with one draw `m_i` of zero or one for every word `i` of
    the vocabulary in a step: as if rows of the table were zero. It follows the embedding, so
    a tied softmax reads the full table, and any embedding can be used.

    Args:
        rate: Share `p` of the words dropped, in `[0, 1)`.
        input_dim: Vocabulary size `V`.
        seed: Seed of the masks.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors `(..., d)` and their ids `(...)` -> vectors `(..., d)`.
    Storage: nothing.
    Raises: ValueError, if `rate` is not in `[0, 1)`.
    Example:
    >>> vectors, ids = np.ones((1, 3, 2), "float32"), np.array([[5, 7, 5]])
    >>> y = EmbeddingDropout(0.5, 9)(vectors, ids, training=True).numpy()
    >>> bool((y[0, 0] == y[0, 2]).all())
    True

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 4.3;
    [Gal & Ghahramani, NeurIPS 2016](https://arxiv.org/abs/1512.05287).
    """

    EXAMPLE = dict(rate=0.1, input_dim=20)

    def __init__(self, rate: float, input_dim: int, seed: int | None = None, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)  # float16 cannot count to a vocabulary's ids
        self.rate = checks.number("rate", rate, at_least=0, below=1)
        self.input_dim = checks.integer_in("input_dim", input_dim, 1)
        self.seed = seed
        self.supports_masking = True
        if rate:
            self.draws = keras.random.SeedGenerator(seed)

    def build(self, vectors_shape: Any, ids_shape: Any = None) -> None:
        pass

    def call(self, vectors: Any, ids: Any, training: bool = False) -> Any:
        vectors = tf.cast(vectors, self.compute_dtype)
        if not (training and self.rate):
            return vectors
        kept = keras.random.dropout(tf.ones([self.input_dim]), self.rate, seed=self.draws)
        factors = tf.gather(tf.cast(kept, vectors.dtype), tf.cast(ids, tf.int32))
        return vectors * tf.expand_dims(factors, -1)

    def compute_mask(self, vectors: Any, previous_mask: Any = None) -> Any:
        return previous_mask

    def compute_output_shape(self, vectors_shape: Any, ids_shape: Any = None) -> Any:
        return vectors_shape

    def get_config(self) -> dict[str, Any]:
        own = {"rate": self.rate, "input_dim": self.input_dim, "seed": self.seed}
        return {**super().get_config(), **own}
