"""Mean of vectors with a learned weight for each."""

from typing import Any

import keras
from keras import ops

from kerascompact.core.masked_mean import type_of_sums
from kerascompact.core.registration import register


@register
class WeightedMean(keras.layers.Layer):
    """Averages vectors over time, each with a weight that its last entry gives.

    `m = sum_t w_t e_t / max(sum_t w_t, 0.0001)` over the steps that the mask keeps, with
    `w_t = sigmoid(a_t)` and `(e_t, a_t)` the `d` first entries and the last one of vector `t`. A
    mean of no vectors is zero, that of vectors which hardly count (`a_t < -9.2`) is shorter than
    they are. An embedding before it is one column wider; that column learns which words matter.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors `(..., length, d + 1)`, mask `(..., length)` or none -> `(..., d)`.
    Storage: nothing; the column is the embedding's.
    Raises: ValueError, if the vectors have fewer than two entries.
    Example:
    >>> WeightedMean()(np.array([[[2.0, 0.0], [4.0, 0.0]]])).numpy().tolist()
    [[3.0]]

    Reference: attention without a query, [Lin et al., ICLR 2017](https://arxiv.org/abs/1703.03130).
    Differs: the weight depends on the word alone, by a sigmoid instead of a softmax over the text.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        if input_shape[-1] is None or input_shape[-1] < 2:
            raise ValueError(
                "`vectors` must have at least 2 entries, the last of which is the weight. "
                f"Received: the shape {tuple(input_shape)}."
            )

    def call(self, vectors: Any, mask: Any = None) -> Any:
        of_inputs = vectors.dtype
        vectors = ops.cast(vectors, type_of_sums(vectors))
        weights = ops.sigmoid(vectors[..., -1:])
        if mask is not None:
            weights = weights * ops.cast(ops.expand_dims(mask, -1), weights.dtype)
        total = ops.maximum(ops.sum(weights, axis=-2), 1e-4)  # of no vectors; float16 can hold it
        return ops.cast(ops.sum(vectors[..., :-1] * weights, axis=-2) / total, of_inputs)

    def compute_mask(self, vectors: Any, mask: Any = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        width = input_shape[-1]
        return (*input_shape[:-2], None if width is None else width - 1)
