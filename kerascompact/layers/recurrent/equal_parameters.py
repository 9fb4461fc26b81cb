"""Size of a sparse recurrent layer with as many parameters as a dense one."""

import math
from typing import NamedTuple

from kerascompact.core import checks
from kerascompact.ops.segments import num_parameters, segment_lengths


class SparseSize(NamedTuple):
    """Arguments of a `SparseLSTM`, its number of parameters, and that of the dense layer.

    `num_segments` is a tuple of lengths if segments are not equally long.
    """

    units: int
    num_segments: int | tuple[int, ...]
    gamma: float
    parameters: int
    dense_parameters: int


def equal_parameters(
    dense: tuple[int, int],
    input_dim: int,
    units: int | None = None,
    num_segments: int | None = None,
    gamma: float | None = None,
    *,
    gates: int = 4,
    biases: int | None = None,
) -> SparseSize:
    """Solves `i_d + h_d + b` per output of a dense layer for a sparse one of equal parameters.

    `h_d (i_d + h_d + b) = h (gamma i + h / N + b)`: with `units = h` given, for `gamma`, or for
    `N` and `gamma` both; without, for the `h` of that `N` and `gamma`. If `N` is not given, it is
    the smallest with which the windows reach every input, `gamma >= 1 / N`. If that needs a
    `gamma` above 1, all segments read all inputs, and the first is longer than the others.

    Args:
        dense: Numbers of inputs and units of the dense layer, `(i_d, h_d)`.
        input_dim: Number of inputs of the sparse layer, `i`.
        units: Number of outputs of the sparse layer, `h`.
        num_segments: Number of its segments, `N`.
        gamma: Share of the inputs that each segment reads, in `(0, 1]`.
        gates: Number of gates: 4 for an LSTM, 3 for a GRU, 1 for a SimpleRNN.
        biases: Number of bias vectors of a gate. Default: those of Keras, 2 for a GRU and 1 for the
            others. Give 0 for `use_bias=False`, 1 for a GRU with `reset_after=False`, 2 for
            PyTorch's LSTM, which the paper counts.

    Returns: A `SparseSize`. `parameters` differs from `dense_parameters` by the rounding of `h / N`
        and `gamma i`. Both are what `count_params()` says of the built layers.

    Raises: ValueError, if no `gamma` in `(0, 1]` gives that number of parameters, or the arguments
        leave too much or nothing to solve for.
    Example:
    >>> size = equal_parameters((1150, 1150), 1725, units=1725)
    >>> size.num_segments, round(size.gamma, 3), size.parameters - size.dense_parameters
    (3, 0.555, 0)
    >>> equal_parameters((100, 100), 150, units=150, gates=3).dense_parameters  # Keras' GRU
    60600
    >>> equal_parameters((1150, 1150), 1725, num_segments=3, gamma=0.5554).units
    1725

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.2.
    Differs: Keras' LSTM has one bias vector, the paper's PyTorch two; gamma is the same to three
    digits.
    The paper has segments of equal length only.
    """
    inputs = checks.integer_in("dense[0]", dense[0], 1)
    outputs = checks.integer_in("dense[1]", dense[1], 1)
    checks.integer_in("input_dim", input_dim, 1)
    checks.choice("gates", gates, (1, 3, 4))
    if biases is None:
        biases = 2 if gates == 3 else 1  # of Keras' GRU, where the input and the state have one
    checks.integer_in("biases", biases, 0, 2)
    wanted = outputs * (inputs + outputs + biases)
    if units is None:
        if num_segments is None or gamma is None:
            checks.fail("units", "given, unless both `num_segments` and `gamma` are", units)
        count = checks.integer_in("num_segments", num_segments, 1)
        share = checks.number("gamma", gamma, above=0, up_to=1)
        linear = share * input_dim + biases
        units = round(count / 2 * (math.sqrt(linear**2 + 4 * wanted / count) - linear))
    else:
        checks.integer_in("units", units, 1)
        if gamma is not None:
            checks.fail("gamma", "None where `units` is given: it is solved for", gamma)
        if num_segments is None:  # h (i + h) / N + b h <= wanted
            room = wanted - biases * units
            if room <= 0:
                checks.fail("units", f"less than {-(-wanted // biases)}", units)
            smallest = math.ceil(units * (input_dim + units) / room)
        count = checks.integer_in("num_segments", num_segments or smallest, 1, units)
        share = (wanted / units - units / count - biases) / input_dim
        if share > 1 and num_segments is None:
            lengths = _uneven(units, count, wanted - units * (input_dim + biases))
            parameters = num_parameters(input_dim, lengths, 1.0, gates, biases)
            return SparseSize(units, lengths, 1.0, parameters, gates * wanted)
        if not 0 < share <= 1:
            raise ValueError(
                f"`num_segments` must leave a gamma in (0, 1] to a layer of {wanted * gates:,} "
                f"parameters. Received: num_segments={count}, gamma={share:.3f}."
            )
    parameters = num_parameters(input_dim, segment_lengths(units, count), share, gates, biases)
    return SparseSize(units, count, share, parameters, gates * wanted)


def _uneven(units: int, number: int, squares: float) -> tuple[int, ...]:
    """One long and otherwise equal lengths with a given sum and sum of squares.

    >>> _uneven(1725, 3, 1091925), 833**2 + 2 * 446**2
    ((833, 446, 446), 1091721)
    """
    missing = max(0.0, squares - units**2 / number)
    first = round(units / number + math.sqrt(missing * (number - 1) / number))
    first = min(first, units - number + 1)
    return first, *segment_lengths(units - first, number - 1)
