import keras
import numpy as np
import pytest

from kerascompact.layers.recurrent.equal_parameters import equal_parameters
from kerascompact.layers.recurrent.sparse_gru import SparseGRU
from kerascompact.layers.recurrent.sparse_lstm import SparseLSTM
from kerascompact.ops.segments import segment_lengths, window_starts, window_width


def test_the_papers_middle_layer():
    """Section 3.2: 1150 becomes 1725 with N = 3 and gamma = 0.555, in PyTorch's count and Keras'.

    Keras has one bias vector where PyTorch has two, so the counts differ by 4 h a layer.
    """
    for biases in (1, 2):
        size = equal_parameters((1150, 1150), 1725, units=1725, biases=biases)
        assert (size.num_segments, round(size.gamma, 3)) == (3, 0.555)
        assert size.dense_parameters == 4 * (1150 * 1150 + 1150**2 + biases * 1150)
        # a window is rounded to whole inputs: at most half an input for each gate of each output
        assert abs(size.parameters - size.dense_parameters) <= 4 * 1725 / 2
    assert equal_parameters((1150, 1150), 1725, num_segments=3, gamma=0.5554).units == 1725


@pytest.mark.parametrize(
    ("dense", "inputs", "units", "number"),
    # layers of "sparse RNN" in Table 4; figure 4 (b) shows the last as two of 675 -> 100
    [((200, 575), 200, 1150, 4), ((575, 575), 1150, 1150, 5), ((575, 200), 1150, 200, 2)],
)
def test_the_layers_of_table_4(dense, inputs, units, number):
    size = equal_parameters(dense, inputs, units=units)
    assert size.num_segments == number
    if units == 200:
        assert window_width(inputs, 2, size.gamma) == 675
    layer = SparseLSTM(units, size.num_segments, size.gamma)
    assert layer.num_parameters(inputs) == size.parameters
    assert abs(size.parameters / size.dense_parameters - 1) < 0.003


def test_a_layer_that_no_equal_segments_fit():
    """AWD-LSTM's first: 2 segments would leave inputs unread, 3 would need a gamma of 1.145."""
    size = equal_parameters((400, 1150), 400, units=1725)
    assert size.gamma == 1 and sum(size.num_segments) == 1725 and len(size.num_segments) == 3
    squares = sum(length**2 for length in size.num_segments)
    assert size.parameters == 4 * (1725 * 401 + squares)
    assert abs(size.parameters / size.dense_parameters - 1) < 2e-4
    layer = SparseLSTM(*size[:3])
    assert layer.num_parameters(400) == size.parameters


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("gates", "biases", "options"),
    [
        (4, None, {}),
        (3, None, {}),  # Keras' GRU has two bias vectors, for the input and for the state
        (3, 1, {"reset_after": False}),
        (4, 0, {"use_bias": False}),
        (3, 0, {"use_bias": False}),
    ],
)
def test_parameters_are_those_of_the_built_layers(gates, biases, options):
    """Both counts against `count_params()` of Keras' dense layer and of the sparse one."""
    kinds = {4: (keras.layers.LSTM, SparseLSTM), 3: (keras.layers.GRU, SparseGRU)}
    for (inputs, outputs), width in (((12, 12), 18), ((100, 100), 150), ((12, 40), 12)):
        units = 3 * outputs // 2
        size = equal_parameters((inputs, outputs), width, units, gates=gates, biases=biases)
        dense, sparse = kinds[gates]
        dense, sparse = dense(outputs, **options), sparse(*size[:3], **options)
        dense.build((None, None, inputs))
        sparse.build((None, None, width))
        assert dense.count_params() == size.dense_parameters
        assert sparse.count_params() == size.parameters == sparse.num_parameters(width)


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_windows_reach_every_input_and_end_at_the_last(number):
    for inputs in (7, 10, 23):
        for gamma in (1 / number, 0.99, 1.0):
            width, starts = (
                window_width(inputs, number, gamma),
                window_starts(inputs, number, gamma),
            )
            read = np.zeros(inputs, bool)
            for start in starts:
                read[start : start + width] = True
            assert starts[0] == 0 and (number == 1 or starts[-1] + width == inputs)
            assert gamma < 1 / number or read.all()


def test_isolated_segments():
    assert window_starts(12, 4, 0.25) == (0, 3, 6, 9) and window_width(12, 4, 0.25) == 3


def test_rejects_what_cannot_be_solved():
    with pytest.raises(ValueError, match=r"must leave a gamma in \(0, 1\]"):
        equal_parameters((10, 10), 100, units=100, num_segments=2)
    with pytest.raises(ValueError, match="`units` must be given"):
        equal_parameters((10, 10), 10, gamma=0.5)
    with pytest.raises(ValueError, match="`gamma` must be None where `units` is given"):
        equal_parameters((10, 10), 10, units=10, gamma=0.5)
    with pytest.raises(ValueError, match="`num_segments` must be lengths"):
        segment_lengths(4, [4, 1])
    with pytest.raises(ValueError, match="`gates` must be one of 1, 3, 4"):
        equal_parameters((10, 10), 10, units=10, gates=2)
    with pytest.raises(ValueError, match=r"`biases` must be an integer in \[0, 2\]"):
        equal_parameters((10, 10), 10, units=10, biases=3)
    with pytest.raises(ValueError, match="`units` must be less than 110"):  # 10 (10 + 10 + 2) / 2
        equal_parameters((10, 10), 10, units=110, gates=3)
