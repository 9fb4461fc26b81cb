"""Regularizer that makes rows orthogonal."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class Orthogonality(keras.regularizers.Regularizer):
    """Adds up how much the rows of a table have in common.

    `L(A) = weight * sum_{i != j} |a_i . a_j|`. It is 0 for orthogonal rows, of any length; more
    rows than columns cannot all be orthogonal.

    Args:
        orthogonality_weight: Factor of the sum, at least 0.

    Raises: ValueError, if `orthogonality_weight` is not a finite number >= 0.
    Example:
    >>> float(Orthogonality(0.1)(tf.constant([[1.0, 0.0], [3.0, 4.0]])))  # 3, counted twice
    0.6000000238418579

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.2.
    """

    def __init__(self, orthogonality_weight: float) -> None:
        self.orthogonality_weight = checks.number(
            "orthogonality_weight", orthogonality_weight, at_least=0
        )

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        x = tf.convert_to_tensor(x)
        products = tf.matmul(x, x, transpose_b=True)
        off = tf.linalg.set_diag(products, tf.zeros_like(x[:, 0]))  # their gradient is none, too
        return self.orthogonality_weight * tf.reduce_sum(tf.abs(off))

    def get_config(self) -> dict[str, Any]:
        return {"orthogonality_weight": self.orthogonality_weight}
