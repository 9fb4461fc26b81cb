"""Batch normalization over rows of a table, weighted by how often the batch uses each row."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core.registration import register
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.normalization import normalized_columns
from kerascompact.ops.replicas import taking_turns


@register
class RowBatchNormalization(keras.layers.Layer):
    """Normalizes columns over a batch whose repeated rows are merged.

    `y = gamma (x - mean) / sqrt(variance + epsilon) + beta`, with `mean = sum_i n_i x_i / sum_i
    n_i` and the variance alike, `n_i` the number of occurrences of row `i` in the batch: the result
    of `keras.layers.BatchNormalization` on the batch before merging, at the cost of the unique
    rows. Inference uses moving averages, as does a training batch of padding alone.

    Args:
        center: Whether to learn `beta`.
        scale: Whether to learn `gamma`.
        momentum: Momentum of the moving averages.
        epsilon: Small number added to the variance.
        by_piece: Whether rows `(D, n, c)`, with `axis=1`, have means and variances `(D, c)`, apart
            for each of the `D` pieces.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: rows `(n, ..., c)`, counts `(n,)` -> `(n, ..., c)`, normalized for each of the `c`.
    Storage: `32 c (center + scale)` bits by the papers' counts; nothing once folded, see `affine`.

    >>> RowBatchNormalization()(np.ones((2, 3), "float32"), np.array([1.0, 5.0])).shape
    TensorShape([2, 3])

    Reference: [Ioffe & Szegedy, ICML 2015](https://arxiv.org/abs/1502.03167), algorithm 1.
    """

    def __init__(
        self,
        center: bool = True,
        scale: bool = True,
        momentum: float = 0.99,
        epsilon: float = 1e-3,
        by_piece: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.center, self.scale, self.by_piece = center, scale, by_piece
        self.momentum, self.epsilon = momentum, epsilon
        self._kept: tuple[np.ndarray, np.ndarray] | None = None

    def keep(self, rows: np.ndarray) -> None:
        """Starts from the moments of rows `(n, c)` and undoes them, so that these pass unchanged.

        To be called before the layer is built; it needs `center` and `scale`.
        """
        rows = rows.astype(np.float64)
        self._kept = rows.mean(axis=0), rows.var(axis=0)

    def build(self, input_shape: Any) -> None:
        shape = (input_shape[0], input_shape[-1]) if self.by_piece else (input_shape[-1],)

        def add(name: str, start: Any, trainable: bool) -> keras.Variable:
            return self.add_weight(
                shape=shape,
                initializer=start,
                dtype="float32",
                trainable=trainable,
                autocast=False,
                aggregation="mean",  # of the replicas, so that all have the same moving averages
                name=name,
            )

        gamma, mean, variance = ("ones", "zeros", "ones") if self._kept is None else self._starts()
        self.gamma = add("gamma", gamma, True) if self.scale else None
        self.beta = add("beta", mean, True) if self.center else None
        self.moving_mean = add("moving_mean", mean, False)
        self.moving_variance = add("moving_variance", variance, False)
        self._kept = None

    def _starts(self) -> list[Any]:
        """Initializers of `gamma`, of both means, and of the variance."""
        assert self._kept is not None
        mean, variance = self._kept
        return [given(np.sqrt(variance + self.epsilon)), given(mean), given(variance)]

    def call(
        self,
        rows: tf.Tensor,
        counts: Any = None,
        training: bool = False,
        track: bool = True,
        axis: int = 0,
    ) -> tf.Tensor:
        """Normalizes rows along `axis`; `track=False` leaves the moving averages as they are."""
        gamma, beta = self._beside_rows(self.gamma), self._beside_rows(self.beta)
        kept = self._beside_rows(self.moving_mean), self._beside_rows(self.moving_variance)
        if not (training and self.trainable):  # frozen: as in inference, like Keras' own
            return tf.nn.batch_normalization(rows, *kept, beta, gamma, self.epsilon)
        weights = tf.ones(tf.shape(rows)[axis]) if counts is None else tf.cast(counts, rows.dtype)
        shape = [1] * len(rows.shape)
        shape[axis] = -1
        weights = tf.reshape(weights, shape) * tf.ones_like(rows[..., :1])
        found, mean, variance = normalized_columns(rows, weights, kept, self.epsilon)
        if track:
            for moving, new in ((self.moving_mean, mean), (self.moving_variance, variance)):
                new = tf.reshape(new, moving.shape)
                with taking_turns():
                    moving.assign(self.momentum * moving.value + (1 - self.momentum) * new)
        found = found if gamma is None else gamma * found
        return found if beta is None else found + beta

    def _beside_rows(self, weight: keras.Variable | None) -> tf.Tensor | None:
        """A weight in a shape that meets the rows: `(c,)`, or `(D, 1, c)` by piece."""
        if weight is None:
            return None
        return tf.expand_dims(weight.value, 1) if self.by_piece else weight.value

    def affine(self) -> tuple[np.ndarray, np.ndarray]:
        """What inference does to a column: scale `(c,)` and shift `(c,)`, `y = scale x + shift`."""
        scale = 1 / np.sqrt(self.moving_variance.numpy() + self.epsilon)
        if self.gamma is not None:
            scale = scale * self.gamma.numpy()
        shift = -self.moving_mean.numpy() * scale
        return scale, shift if self.beta is None else shift + self.beta.numpy()

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "center": self.center,
            "scale": self.scale,
            "momentum": self.momentum,
            "epsilon": self.epsilon,
            "by_piece": self.by_piece,
        }
