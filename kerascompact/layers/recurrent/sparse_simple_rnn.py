"""SparseSimpleRNN, an Elman network that is sparse from the start."""

from kerascompact.core.registration import register
from kerascompact.layers.recurrent.base import OPTIONS, SparseRecurrent
from kerascompact.layers.recurrent.weight_drop import WeightDropSimpleRNN


@register
class SparseSimpleRNN(SparseRecurrent):
    """SimpleRNN with a block-diagonal recurrent kernel, whose segments read windows of the input.

    `h = [RNN_1(x[a_1 : a_1 + w]), ..., RNN_N(x[a_N : a_N + w])]`, see `SparseLSTM`, with
    `RNN_n: h' = tanh(x W_n + h R_n + b_n)`.

    Args:
        units: Number of outputs `h`.
        num_segments: Number of segments `N` of equal length, or a list of their lengths.
        gamma: Share of the inputs that a segment reads, in `(0, 1]`.
        dropout: Share of the inputs dropped, the same for all segments and steps.
        weight_dropout: Share of the recurrent weights dropped in a step, see `WeightDropSimpleRNN`.
        seed: Seed of the dropouts and of the initial weights.
        **kwargs: Arguments of `keras.layers.SimpleRNN`.

    Shapes: `(batch, steps, i)` -> `(batch, h)`, or `(batch, steps, h)`, as in Keras.
    Storage: `32 h (gamma i + h / N + 1)` bits.
    Raises: ValueError, if `num_segments` does not fit `units`, or `gamma` is not in `(0, 1]`.
    Example:
    >>> layer = SparseSimpleRNN(12, num_segments=3, gamma=0.5, return_sequences=True)
    >>> layer(np.ones((2, 5, 8), "float32")).shape, layer.count_params()
    (TensorShape([2, 5, 12]), 108)

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.1, whose
    equations are those of a recurrent network without gates.
    """

    SEGMENT = WeightDropSimpleRNN
    KIND = "simple_rnn"
    GATES = 1
    OPTIONS = tuple(name for name in OPTIONS if name != "recurrent_activation")
    HAS_CUDNN = False
    EXAMPLE = dict(units=6, num_segments=2, gamma=0.5)
