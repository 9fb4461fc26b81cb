"""Dropout with one mask for all steps of a text."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class LockedDropout(keras.layers.Dropout):
    """Variational dropout: one mask per text, used in all its steps.

    `y_t = M * x_t / (1 - p)` with `M` of zeros and ones, `(batch, 1, d)`, in training; otherwise
    the inputs.

    Args:
        rate: Share `p` dropped, in `[0, 1)`.
        seed: Seed of the masks.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: `(batch, steps, d)` -> the same.
    Storage: nothing.
    Raises: ValueError, if `rate` is not in `[0, 1)`, or the inputs have no steps.
    Example:
    >>> y = LockedDropout(0.5)(np.ones((2, 4, 3), "float32"), training=True).numpy()
    >>> bool((y[:, :1] == y).all())
    True

    Reference: [Gal & Ghahramani, NeurIPS 2016](https://arxiv.org/abs/1512.05287);
    [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 4.2.
    """

    EXAMPLE = dict(rate=0.5)

    def __init__(self, rate: float, seed: int | None = None, **kwargs: Any) -> None:
        checks.number("rate", rate, at_least=0, below=1)
        super().__init__(rate, noise_shape=(None, 1, None), seed=seed, **kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=3)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        del config["noise_shape"]
        return config
