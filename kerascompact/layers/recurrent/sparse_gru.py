"""SparseGRU, a GRU that is sparse from the start."""

from kerascompact.core.registration import register
from kerascompact.layers.recurrent.base import OPTIONS, SparseRecurrent
from kerascompact.layers.recurrent.weight_drop import WeightDropGRU


@register
class SparseGRU(SparseRecurrent):
    """GRU with a block-diagonal recurrent kernel, whose segments read windows of the input.

    `h = [GRU_1(x[a_1 : a_1 + w]), ..., GRU_N(x[a_N : a_N + w])]`, see `SparseLSTM`.

    Args:
        units: Number of outputs `h`.
        num_segments: Number of segments `N` of equal length, or a list of their lengths.
        gamma: Share of the inputs that a segment reads, in `(0, 1]`.
        dropout: Share of the inputs dropped, the same for all segments and steps.
        weight_dropout: Share of the recurrent weights dropped in a step, see `WeightDropGRU`.
        seed: Seed of the dropouts and of the initial weights.
        use_cudnn: Whether a segment may run in cuDNN on a GPU, as in `keras.layers.GRU`.
        **kwargs: Arguments of `keras.layers.GRU`.

    Shapes: `(batch, steps, i)` -> `(batch, h)`, or `(batch, steps, h)`, as in Keras.
    Storage: `32 * 3 h (gamma i + h / N + 2)` bits, one bias less without `reset_after`.
    Raises: ValueError, if `num_segments` does not fit `units`, or `gamma` is not in `(0, 1]`.
    Example:
    >>> layer = SparseGRU(12, num_segments=3, gamma=0.5, return_sequences=True)
    >>> layer(np.ones((2, 5, 8), "float32")).shape, layer.count_params()
    (TensorShape([2, 5, 12]), 360)

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.1.
    """

    SEGMENT = WeightDropGRU
    KIND = "gru"
    GATES = 3
    OPTIONS = (*OPTIONS, "reset_after")
    EXAMPLE = dict(units=6, num_segments=2, gamma=0.5)

    def _biases(self) -> int:
        return super()._biases() * (2 if self.segments[0].reset_after else 1)
