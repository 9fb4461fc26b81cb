"""SparseLSTM, an LSTM that is sparse from the start."""

from kerascompact.core.registration import register
from kerascompact.layers.recurrent.base import OPTIONS, SparseRecurrent
from kerascompact.layers.recurrent.weight_drop import WeightDropLSTM


@register
class SparseLSTM(SparseRecurrent):
    """LSTM with a block-diagonal recurrent kernel, whose segments read windows of the input.

    The `h` outputs fall into `N` segments. Segment `n` has an LSTM of its own over a window of
    `gamma i` inputs, which moves from the first input to the last: `h_n = LSTM_n(x[a_n : a_n + w])`
    and `h = [h_1, ..., h_N]`. With `gamma = 1` all segments share all inputs (what the paper
    recommends), with `gamma = 1 / N` they are `N` isolated LSTMs. It replaces `keras.layers.LSTM`,
    with the same masks, states, arguments and `Bidirectional`.

    In training it runs Keras LSTMs, so that a GPU uses cuDNN; in a file it is one loop over all
    segments, see `to_form`. A step of 20 texts of 32 vectors, 300 -> 256 with 4 segments and
    `gamma` 0.4, takes 20 ms of a CPU (dense: 35), with `jit_compile` 16 ms (dense: 35). The loop
    would take 18 and 15 ms, not worth a second path. In a file the loop reads a text in 226 us,
    separate layers in 426, the dense layer in 923 (`python -m benchmarks.run recurrent_speed`).

    `equal_parameters` finds `N` and `gamma` for the size of a dense layer.

    Args:
        units: Number of outputs `h`.
        num_segments: Number of segments `N` of equal length, or a list of their lengths.
        gamma: Share of the inputs that a segment reads, in `(0, 1]`.
        dropout: Share of the inputs dropped, the same for all segments and steps.
        weight_dropout: Share of the recurrent weights dropped in a step, see `WeightDropLSTM`.
        seed: Seed of the dropouts and of the initial weights.
        use_cudnn: Whether a segment may run in cuDNN on a GPU, as in `keras.layers.LSTM`.
        **kwargs: Arguments of `keras.layers.LSTM`.

    Shapes: `(batch, steps, i)` -> `(batch, h)`, or `(batch, steps, h)`, as in Keras.
    Storage: `32 * 4 h (gamma i + h / N + 1)` bits.
    Raises: ValueError, if `num_segments` does not fit `units`, or `gamma` is not in `(0, 1]`.
    Example:
    >>> layer = SparseLSTM(12, num_segments=3, gamma=0.5, return_sequences=True)
    >>> layer(np.ones((2, 5, 8), "float32")).shape, layer.count_params()
    (TensorShape([2, 5, 12]), 432)

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.1.
    """

    SEGMENT = WeightDropLSTM
    KIND = "lstm"
    GATES = 4
    OPTIONS = (*OPTIONS, "unit_forget_bias")
    EXAMPLE = dict(units=6, num_segments=2, gamma=0.5)
