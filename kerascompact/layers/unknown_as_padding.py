"""Filter that turns unknown words into padding."""

from typing import Any

import keras
from keras import ops

from kerascompact.core.registration import register
from kerascompact.text.vocabulary import NUM_RESERVED


@register
class UnknownAsPadding(keras.layers.Layer):
    """Turns the id of the unknown word, 1, into padding, 0, before an embedding that masks it.

    `i -> 0` for `i < 2`, all other ids stay. A mean is then over known words alone: with a
    vocabulary of a few hundred words most of a text may be unknown, and would dilute the mean.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: ids of a `Vocabulary` `(...)`, integers -> ids `(...)` of the same type.
    Storage: nothing.
    Example:
    >>> UnknownAsPadding()(np.array([[7, 1, 2, 0]])).numpy().tolist()
    [[7, 0, 2, 0]]

    Reference: none, a filter of our own.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs, autocast=False)
        self.supports_masking = True

    def call(self, ids: Any) -> Any:
        return ops.where(ids < NUM_RESERVED, ops.zeros_like(ids), ids)

    def compute_output_spec(self, ids: Any) -> keras.KerasTensor:
        return keras.KerasTensor(ids.shape, ids.dtype)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("autocast", None)
        return config
