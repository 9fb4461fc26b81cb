"""Half-normal initializer: absolute values of normal numbers."""

import math
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class HalfNormal(keras.initializers.Initializer):
    """Draws `|N(0, stddev)|`; by default `stddev = sqrt(2 / rows)`.

    What the transformation of `layers.AnchorTransformEmbedding` starts with: positive, so that a
    table that is kept non-negative does not start half empty. As a start of the anchors, which
    then all point one way, it is worse than `OrthogonalRows`.

    Args:
        stddev: Standard deviation of the normal numbers; `None`: `sqrt(2 / rows)`, `rows` the
            first axis.
        seed: Seed of the draw.

    Shapes: any with a first axis.
    Raises: ValueError, if `stddev` is not above 0 or `seed` is no integer.
    Example:
    >>> bool(tf.reduce_min(HalfNormal(seed=1)((50, 3))) > 0)
    True

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), their code.
    """

    def __init__(self, stddev: float | None = None, seed: int | None = None) -> None:
        self.stddev = stddev if stddev is None else checks.number("stddev", stddev, above=0)
        self.seed = seed if seed is None else checks.integer_in("seed", seed, 0)

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        stddev = math.sqrt(2 / max(shape[0], 1)) if self.stddev is None else self.stddev
        draw = keras.initializers.RandomNormal(0.0, stddev, seed=self.seed)
        return tf.abs(draw(shape, dtype=dtype))

    def get_config(self) -> dict[str, Any]:
        return {"stddev": self.stddev, "seed": self.seed}
