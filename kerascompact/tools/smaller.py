"""Stores one float constant of a file in fewer bytes: the ways, and which of them serves."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core.quantize import quantize_columns
from kerascompact.tflite.graph_edits import OP, kind, new_buffer
from kerascompact.tflite.passes.kernels import dequantize_first, pays
from kerascompact.tflite.passes.lookups import store_as_codes, store_as_integers
from kerascompact.tools.float_constants import FloatConstant, Use

NUMBERS_PER_CODE = 4
CARDINALITY = 256  # vectors in a codebook: a code is a byte
LARGEST = np.finfo(np.float32).max / 256
TOO_FAR = 0.5  # error with which a constant is no longer the same
GRAPH = {"int8": 300, "int4": 300, "codes": 800}  # bytes of operators, measured and rounded up
OUTPUTS_FIRST = (
    OP.FULLY_CONNECTED, OP.CONV_2D, OP.TRANSPOSE_CONV, OP.UNIDIRECTIONAL_SEQUENCE_LSTM,
)  # fmt: skip
# The ways of storing a table by recipe; the first that serves is taken.
WAYS = {"int8": ("int8",), "int4": ("int4", "int8"), "codes": ("codes", "int4", "int8")}


class Change(NamedTuple):
    """What became of a float constant.

    Args:
        name: Name of the constant; may be empty.
        was: Type and shape before.
        now: How it is stored now, or why it stays.
        before: Bytes before.
        after: Bytes now, of numbers and scales.
        error: Length of the error of a row divided by the length of the row, mean over all rows.
    """

    name: str
    was: str
    now: str
    before: int
    after: int
    error: float


class _Stored(NamedTuple):
    """A table in one way of storing: what it takes, what it stands for, how to write it."""

    now: str
    after: int
    values: np.ndarray
    write: Callable[[Any, Any, Use], None]


def shrink_constant(
    model: Any,
    found: FloatConstant,
    recipe: str,
    counts: Mapping[tuple[int, int], np.ndarray],
    numbers_per_code: int,
    seed: int,
    steps: Callable[[int, str], Iterable[int]],
) -> Change:
    """Stores a constant in fewer bytes, or leaves it and says why.

    Args:
        model: `ModelT` of the schema, changed in place.
        found: The constant, from `float_constants`.
        recipe: "int8", "int4" or "codes".
        counts: How often each row of a table occurs, by number of the graph and of the tensor.
        numbers_per_code: Numbers for which a code stands.
        seed: Seed of the codes.
        steps: Function that returns `range(count)`, perhaps with a progress bar.

    Returns: What became of it.
    """
    was = f"{found.dtype}{[*found.values.shape]}"

    def change(now: str, after: int = found.num_bytes, error: float = 0.0) -> Change:
        return Change(found.name, was, now, found.num_bytes, after, error)

    if found.others or not (found.is_table or found.is_kernel):
        return change(f"stays, for it is read by {', '.join(found.others) or 'nothing'}")
    if not np.abs(found.values).max() < LARGEST:
        return change("stays, for it has numbers that are not finite, or too large to be rounded")
    if not found.is_table:
        return _shrink_kernel(model, found, change)
    weights = sum(counts[key] for use in found.uses if (key := (use.graph, use.tensor)) in counts)
    tied = found.is_kernel or found.values.ndim != 2
    reason = ""
    for way in ("int8",) if tied else WAYS[recipe]:
        if way == "codes":
            stored = _codes(found.values, weights, numbers_per_code, seed, steps)
        else:
            stored = _integers(found.values, 8 if way == "int8" else 4)
        error = _error(found.values, stored.values)
        if stored.after + GRAPH[way] >= found.num_bytes:
            reason = f"{way} costs more"
            continue
        if error > TOO_FAR:
            reason = f"{way} would change it by {error:.2f} of its size"
            continue
        for use in found.uses:
            stored.write(model, model.subgraphs[use.graph], use)
        return change(stored.now, stored.after, error)
    return change(f"stays, for {reason}")


def _integers(values: np.ndarray, bits: int) -> _Stored:
    """A table as integers with a scale for each column."""
    flat = values.reshape(-1, values.shape[-1])
    codes, scale = quantize_columns(flat, bits)
    now = f"int{bits}, a scale for each of {len(scale)} columns"
    rows = codes.reshape(values.shape)

    def write(model: Any, graph: Any, use: Use) -> None:
        if use.lookups:
            store_as_integers(model, graph, use.tensor, rows, scale)
        if use.kernels:  # a tied table: the same bytes, with the same scales
            _write_kernel(model, graph, use.tensor, rows, scale, values.ndim - 1)

    return _Stored(now, -(-codes.size * bits // 8) + 4 * len(scale), rows * scale, write)


def _codes(
    values: np.ndarray,
    weights: Any,
    numbers_per_code: int,
    seed: int,
    steps: Callable[[int, str], Iterable[int]],
) -> _Stored:
    """A table as product codes of 8 bits, with int8 codebooks."""
    from kerascompact.ops.product_codes import product_codes

    rows, width = values.shape
    length = -(-width // numbers_per_code)
    while width % length:  # the next number of parts that are equally wide
        length += 1
    counted = None if np.ndim(weights) == 0 else weights + 1  # words that did not occur count, too
    codes, books = product_codes(
        values, length, min(CARDINALITY, rows), counted, seed=seed, max_points=16_384, steps=steps
    )
    small, scale = quantize_columns(books)
    exact = small * scale[:, None, :]
    found = np.concatenate([exact[j][codes[:, j]] for j in range(length)], axis=1)
    now = f"{length} codes of 8 bits, int8 codebooks"
    factors = scale.reshape(-1)

    def write(model: Any, graph: Any, use: Use) -> None:
        store_as_codes(model, graph, use.tensor, codes, small, factors)

    return _Stored(now, codes.size + small.size + 4 * width, found, write)


def _shrink_kernel(model: Any, found: FloatConstant, change: Callable[..., Change]) -> Change:
    """Stores a kernel as int8, with a scale for each output or, if these are fewer, each input."""
    values, use = found.values, found.uses[0]
    axis = _axis(model, use.kernels[0], use.tensor, values.ndim)
    if values.ndim == 2 and values.shape[axis] > values.shape[1 - axis]:
        axis = 1 - axis
    if not pays(values.shape, axis):
        return change("stays, for int8 costs more")
    moved = np.moveaxis(values, axis, -1)
    rounded, scale = quantize_columns(moved.reshape(-1, moved.shape[-1]))
    exact, codes = (
        np.moveaxis(array.reshape(moved.shape), -1, axis) for array in (rounded * scale, rounded)
    )
    error = _error(values, exact)
    if error > TOO_FAR:
        return change(f"stays, for int8 would change it by {error:.2f} of its size")
    for one in found.uses:
        _write_kernel(model, model.subgraphs[one.graph], one.tensor, codes, scale, axis)
    now = f"int8, a scale for each of {len(scale)} {'rows' if axis == 0 else 'columns'}"
    return change(now, codes.size + 12 * len(scale), error)


def _axis(model: Any, operator: Any, index: int, rank: int) -> int:
    """The dimension of a kernel's outputs."""
    which, options = kind(model, operator), operator.builtinOptions
    if which == OP.BATCH_MATMUL:  # (inputs, outputs) as the second factor
        second = operator.inputs[1] == index
        swapped = bool(options.adjY if second else options.adjX)
        return rank - 1 if second != swapped else rank - 2
    return 0 if which in OUTPUTS_FIRST else rank - 1


def _write_kernel(
    model: Any, graph: Any, index: int, codes: np.ndarray, scale: np.ndarray, axis: int
) -> None:
    unpacks = [o for o in graph.operators if index in o.outputs]  # a float16 constant, if any
    graph.operators = [o for o in graph.operators if not any(o is one for one in unpacks)]
    dequantize_first(model, graph, index, new_buffer(model, codes), scale, axis)


def _error(values: np.ndarray, stored: np.ndarray) -> float:
    """Mean over the rows of their relative errors, so that a few large rows hide nothing."""
    rows, apart = (array.reshape(len(values), -1) for array in (values, stored - values))
    lengths, errors = (np.linalg.norm(array, axis=1) for array in (rows, apart))
    return float(np.mean(errors / np.where(lengths > 0, lengths, 1)))
