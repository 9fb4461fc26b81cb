"""Initializer of code logits under which all words start with one common code."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class CommonCode(keras.initializers.Initializer):
    """Starts the code of every word at letters 0, which lead the others by a margin.

    `pi_ijk = margin [k = 0] + U(-noise, noise)`. A word leaves the common code once its gradients
    have moved its logits by the margin; Adam moves a logit by about `learning_rate * logit_scale`
    in each step with the word. Rarer words, and unknown words, keep the vector that all words start
    with. With random codes, the vector of a word that occurred once is as long as any other, and
    its letters fit that one text.

    Args:
        cardinality: Number of letters of the alphabet `K`.
        margin: Lead of letter 0 over the others, at least 0.
        noise: Bound of the uniform noise, above 0, so that words with equal gradients differ.
        seed: Seed of the noise.

    Shapes: `(V, D K)` or `(..., K)`: the last axis is a multiple of `K`.
    Raises: ValueError, if an argument is out of its range, or `K` does not divide the last axis.
    Example:
    >>> logits = CommonCode(cardinality=4, margin=1.0)((2, 8))
    >>> tf.argmax(tf.reshape(logits, (2, 2, 4)), axis=-1).numpy().tolist()
    [[0, 0], [0, 0]]

    Differs: the codes of [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464) start at
    random.
    """

    def __init__(
        self, cardinality: int, margin: float = 1.0, noise: float = 0.01, seed: int | None = None
    ) -> None:
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.margin = checks.number("margin", margin, at_least=0)
        self.noise = checks.number("noise", noise, above=0)
        self.seed = seed if seed is None else checks.integer_in("seed", seed, 0)

    def __call__(self, shape: Any, dtype: Any = None) -> tf.Tensor:
        *rows, last = shape
        if last % self.cardinality:
            checks.fail("shape", f"(..., a multiple of {self.cardinality} letters)", shape)
        draw = keras.initializers.RandomUniform(-self.noise, self.noise, seed=self.seed)
        lead = np.tile(self.margin * (np.arange(self.cardinality) == 0), last // self.cardinality)
        noise = draw(shape, dtype=dtype)
        return noise + tf.cast(lead, noise.dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            "cardinality": self.cardinality,
            "margin": self.margin,
            "noise": self.noise,
            "seed": self.seed,
        }
