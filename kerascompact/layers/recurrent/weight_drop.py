"""LSTM, GRU and SimpleRNN with DropConnect: recurrent weights are dropped, not activations."""

from typing import Any

import keras

from kerascompact.core import checks
from kerascompact.core.registration import register


class WeightDrop:
    """Mixin that drops entries of the recurrent kernel in each training step."""

    def __init__(
        self, *args: Any, weight_dropout: float = 0.0, seed: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, seed=seed, **kwargs)  # type: ignore[call-arg]
        self.weight_dropout = checks.number("weight_dropout", weight_dropout, at_least=0, below=1)
        if self.weight_dropout:
            self.weight_seed = keras.random.SeedGenerator(seed)

    def inner_loop(
        self, sequences: Any, initial_state: Any, mask: Any, training: bool = False
    ) -> Any:
        loop = super().inner_loop  # type: ignore[misc]
        if not (training and self.weight_dropout):
            return loop(sequences, initial_state, mask, training=training)
        kernel = self.cell.recurrent_kernel  # type: ignore[attr-defined]
        dropped = keras.random.dropout(kernel.value, self.weight_dropout, seed=self.weight_seed)
        # Whatever reads the variable in this loop, cuDNN as well, reads the dropped numbers.
        with keras.StatelessScope(state_mapping=[(kernel, dropped)]):
            return loop(sequences, initial_state, mask, training=training)

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()  # type: ignore[misc]
        seed = self.cell.seed  # type: ignore[attr-defined]
        return {**config, "seed": seed, "weight_dropout": self.weight_dropout}


@register
class WeightDropLSTM(WeightDrop, keras.layers.LSTM):
    """An LSTM with DropConnect on its hidden-to-hidden weights.

    In a training step `W_hh` is `M * W_hh / (1 - p)` with a mask `M` of zeros and ones, the same
    for all texts and steps of the batch; outside of training the layer is `keras.layers.LSTM`. The
    loop is that of Keras, so cuDNN can run it.

    Args:
        *args: Positional arguments of `keras.layers.LSTM`: `units`, the width `h` of the state.
        weight_dropout: Share `p` of the `4 h^2` recurrent weights dropped, in `[0, 1)`.
        seed: Seed of the dropped weights and of the other dropouts.
        **kwargs: Arguments of `keras.layers.LSTM`.

    Shapes: `(batch, steps, i)` -> `(batch, h)`, or `(batch, steps, h)`, as in Keras.
    Storage: `32 * 4 h (i + h + 1)` bits.
    Raises: ValueError, if `weight_dropout` is not in `[0, 1)`.
    Example:
    >>> WeightDropLSTM(8, weight_dropout=0.5)(np.ones((2, 5, 3), "float32")).shape
    TensorShape([2, 8])

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 2;
    [Wan et al., ICML 2013](https://proceedings.mlr.press/v28/wan13.html).
    """


@register
class WeightDropGRU(WeightDrop, keras.layers.GRU):
    """A GRU with DropConnect on its hidden-to-hidden weights, see `WeightDropLSTM`.

    Args:
        *args: Positional arguments of `keras.layers.GRU`: `units`, the width `h` of the state.
        weight_dropout: Share `p` of the `3 h^2` recurrent weights dropped, in `[0, 1)`.
        seed: Seed of the dropped weights and of the other dropouts.
        **kwargs: Arguments of `keras.layers.GRU`.

    Shapes: `(batch, steps, i)` -> `(batch, h)`, or `(batch, steps, h)`, as in Keras.
    Storage: `32 * 3 h (i + h + 2)` bits.
    Raises: ValueError, if `weight_dropout` is not in `[0, 1)`.
    Example:
    >>> WeightDropGRU(8, weight_dropout=0.5)(np.ones((2, 5, 3), "float32")).shape
    TensorShape([2, 8])

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 2.
    """


@register
class WeightDropSimpleRNN(WeightDrop, keras.layers.SimpleRNN):
    """A SimpleRNN with DropConnect on its hidden-to-hidden weights, see `WeightDropLSTM`.

    Args:
        *args: Positional arguments of `keras.layers.SimpleRNN`: `units`, the width `h` of the
            state.
        weight_dropout: Share `p` of the `h^2` recurrent weights dropped, in `[0, 1)`.
        seed: Seed of the dropped weights and of the other dropouts.
        **kwargs: Arguments of `keras.layers.SimpleRNN`.

    Shapes: `(batch, steps, i)` -> `(batch, h)`, or `(batch, steps, h)`, as in Keras.
    Storage: `32 h (i + h + 1)` bits.
    Raises: ValueError, if `weight_dropout` is not in `[0, 1)`.
    Example:
    >>> WeightDropSimpleRNN(8, weight_dropout=0.5)(np.ones((2, 5, 3), "float32")).shape
    TensorShape([2, 8])

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 2.
    """
