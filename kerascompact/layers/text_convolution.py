"""Convolution of one width of a text CNN, with a masked maximum over time."""

from typing import Any

import keras
from keras import ops

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class TextConvolution(keras.layers.Layer):
    """Convolves a text with filters of `h` words and takes the maximum over time.

    `y_f = max_t relu(w_f . x_{t:t+h} + b_f)` over the windows `x_{t:t+h}` within the text. A text
    of fewer than `h` words has one window that ends in zeros; a text of padding alone has none, and
    `y_f = 0`. Padding does not change the result.

    Args:
        filters: Number of filters.
        kernel_size: Number of words `h` in a window.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: vectors `(batch, length, d)`, mask `(batch, length)` or none -> `(batch, filters)`;
        `length` is at least 1, so that a text without words is one of padding.
    Storage: `32 * filters * (h d + 1)` bits.
    Raises: ValueError, if an argument is no integer >= 1, or vectors are known to have length 0.
    Example:
    >>> TextConvolution(100, kernel_size=5)(np.ones((2, 3, 8), "float32")).shape
    TensorShape([2, 100])

    Reference: [Kim, EMNLP 2014](https://aclanthology.org/D14-1181), eq. 2 to 4.
    Differs: padding is left out and short texts have a window; the paper pads all texts alike, and
    windows of padding take part in its maximum.
    """

    def __init__(self, filters: int, kernel_size: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.filters = checks.integer_in("filters", filters, 1)
        self.kernel_size = checks.integer_in("kernel_size", kernel_size, 1)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        self.kernel = self.add_weight(
            shape=(self.kernel_size, input_shape[-1], self.filters), name="kernel"
        )
        self.bias = self.add_weight(shape=(self.filters,), initializer="zeros", name="bias")

    def call(self, vectors: Any, mask: Any = None) -> Any:
        if vectors.shape[1] == 0:
            checks.fail("vectors", "of length >= 1, such as padding", tuple(vectors.shape))
        real = ops.ones_like(vectors[..., 0]) if mask is None else ops.cast(mask, vectors.dtype)
        after = self.kernel_size - 1
        vectors = ops.pad(vectors * real[..., None], [[0, 0], [0, after], [0, 0]])
        windows = ops.relu(ops.conv(vectors, self.kernel, padding="valid") + self.bias)
        # relu leaves nothing below 0, so a window that is multiplied by 0 is never the maximum
        return ops.max(windows * self._kept(real)[..., None], axis=1)

    def _kept(self, real: Any) -> Any:
        """1 for windows within a text, and for the one that begins where a text begins."""
        padded = ops.pad(real, [[0, 0], [1, self.kernel_size - 1]])
        within = real
        for place in range(2, self.kernel_size + 1):
            within = within * padded[:, place : place - self.kernel_size or None]
        begins = real * (1 - padded[:, : -self.kernel_size])
        return ops.maximum(within, begins)

    def compute_mask(self, vectors: Any, mask: Any = None) -> None:
        return None

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (input_shape[0], self.filters)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "filters": self.filters,
            "kernel_size": self.kernel_size,
        }
