"""Maximum of vectors over the steps that a mask keeps."""

from typing import Any

import keras
from keras import ops

from kerascompact.core.registration import register

BELOW = -1e4  # below any activation, and a float16


@register
class MaskedMax(keras.layers.Layer):
    """Takes the largest entry of each column over time, without padding.

    `m_j = max_t e_tj` over the steps that the mask keeps; the maximum of none of them is zero. In
    training the entries must be above -10,000. Without a mask there must be a step.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors `(..., length, d)`, mask `(..., length)` or none -> `(..., d)`.
    Storage: nothing.
    Example:
    >>> MaskedMax()(np.array([[[-1.0], [5.0]]]), mask=np.array([[True, False]])).numpy().tolist()
    [[-1.0]]

    Reference: `keras.layers.GlobalMaxPooling1D`.
    Differs: padding is left out; a text of padding alone gives zeros.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, vectors: Any, mask: Any = None, training: bool | None = None) -> Any:
        if vectors.shape[-2] == 0:  # eager execution refuses a maximum of nothing
            return ops.sum(vectors, axis=-2)
        if mask is None:
            return ops.max(vectors, axis=-2)
        kept = ops.expand_dims(ops.cast(mask, "bool"), -1)
        # In training, a least entry that is also the largest would share its gradient with padding;
        # of a file in integers (`full_int8`), a range down to -10,000 would leave one step to all.
        below = BELOW if training else ops.min(vectors, axis=-2, keepdims=True)
        largest = ops.max(ops.where(kept, vectors, below), axis=-2)
        return ops.where(ops.any(kept, axis=-2), largest, 0.0)

    def compute_mask(self, vectors: Any, mask: Any = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-2], input_shape[-1])
