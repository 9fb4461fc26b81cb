"""Segments of a recurrent layer's outputs, and the window of inputs that each reads."""

from collections.abc import Sequence

from kerascompact.core import checks


def segment_lengths(units: int, segments: int | Sequence[int]) -> tuple[int, ...]:
    """The lengths of the segments of `units` outputs.

    Args:
        units: Number of outputs `h`.
        segments: Number `N` of segments of equal length (the first `h mod N` are longer by one), or
            a list of lengths.

    Raises: ValueError, if there are more segments than outputs, or lengths do not add up to
        `units`.

    >>> segment_lengths(7, 3), segment_lengths(7, [2, 5])
    ((3, 2, 2), (2, 5))
    """
    if isinstance(segments, Sequence) and not isinstance(segments, str):
        lengths = tuple(checks.integer_in("num_segments", one, 1) for one in segments)
        if sum(lengths) != units:
            checks.fail("num_segments", f"lengths that add up to {units}, the units", segments)
        return lengths
    number = checks.integer_in("num_segments", segments, 1, units)
    return tuple(units // number + (place < units % number) for place in range(number))


def window_width(input_dim: int, number: int, gamma: float) -> int:
    """Number of inputs that each segment reads: `gamma i`, rounded.

    With `gamma >= 1 / N` it is at least `ceil(i / N)`, so that each input is read by a segment.

    >>> window_width(1725, 3, 0.555), window_width(10, 3, 1 / 3), window_width(10, 3, 0.01)
    (957, 4, 1)
    """
    least = -(-input_dim // number) if gamma * number > 1 - 1e-9 else 1
    return max(least, round(gamma * input_dim))


def window_starts(input_dim: int, number: int, gamma: float) -> tuple[int, ...]:
    """Where each window starts: it moves from the first input to the last, a step per segment.

    >>> window_starts(12, 3, 1 / 3), window_starts(12, 3, 0.5), window_starts(12, 3, 1.0)
    ((0, 4, 8), (0, 3, 6), (0, 0, 0))
    """
    way = input_dim - window_width(input_dim, number, gamma)
    return tuple(place * way // max(1, number - 1) for place in range(number))


def num_parameters(
    input_dim: int, lengths: Sequence[int], gamma: float, gates: int = 4, biases: int = 1
) -> int:
    """Trainable numbers of a recurrent layer: `g sum_n s_n (w + s_n + b)`.

    Args:
        input_dim: Number of inputs `i`.
        lengths: Lengths `s_n` of the segments; a dense layer has one.
        gamma: Share of the inputs that a segment reads.
        gates: Number of gates: 4 for an LSTM, 3 for a GRU.
        biases: Number of bias vectors of a gate: 1 in Keras (2 in its GRU with `reset_after`), 2 in
            PyTorch, which the paper counts.

    >>> num_parameters(1150, [1150], 1.0), num_parameters(1725, [575] * 3, 0.555)
    (10584600, 10577700)

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), sec. 3.2.
    """
    width = window_width(input_dim, len(lengths), gamma)
    return gates * sum(length * (width + length + biases) for length in lengths)
