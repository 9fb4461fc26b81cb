"""Mean of vectors over the steps that a mask keeps."""

from typing import Any

import keras
from keras import ops

from kerascompact.core.masked_mean import masked_mean
from kerascompact.core.registration import register


@register
class MaskedMean(keras.layers.Layer):
    """Averages vectors over time, without padding.

    `m = sum_t mask_t e_t / max(sum_t mask_t, 1)`: the mean of no vectors is zero, where
    `keras.layers.GlobalAveragePooling1D` divides by zero and one empty text turns all weights into
    NaN. Without a mask there must be a step.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors `(..., length, d)`, mask `(..., length)` or none -> `(..., d)`.
    Storage: nothing.
    Example:
    >>> MaskedMean()(np.ones((1, 3, 2)), mask=np.array([[False, False, False]])).numpy().tolist()
    [[0.0, 0.0]]

    Reference: `keras.layers.GlobalAveragePooling1D`.
    Differs: a text of padding alone gives zeros.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, vectors: Any, mask: Any = None) -> Any:
        if mask is None:
            return ops.mean(vectors, axis=-2)
        return masked_mean(vectors, mask)

    def compute_mask(self, vectors: Any, mask: Any = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-2], input_shape[-1])
