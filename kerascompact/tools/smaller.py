"""Stores one float constant of a file in fewer bytes: the ways, and which of them serves."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core.quantize import quantize_columns
from kerascompact.tflite.passes.lookups import Finer, store_as_codes, store_as_integers
from kerascompact.tools.float_constants import FloatConstant, Use
from kerascompact.tools.smaller_kernels import StoredKernel, kernel_as_int8, write_kernel

NUMBERS_PER_CODE = 4
CARDINALITY = 256  # vectors in a codebook: a code is a byte
LARGEST = np.finfo(np.float32).max / 256
FREQUENT = 0.85  # share of lookups whose rows get 8 bits more
FEW = 0.125  # share of the rows that these may be
DAMPED = 0.75  # power of the counts by which rows weigh: without it, rare words get no codes
SLIGHT = 0.002  # share of the file that a kernel must save
TOO_FAR = 0.5  # error with which a constant is no longer the same
# Bytes of operators, measured and rounded up: of one lookup, of each more, of cutting odd rows.
GRAPH = {"int8": 300, "int4": 300, "codes": 800}
LOOKUP = {"int8": 140, "int4": 140, "codes": 450}
CUT = 150
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
    write: Callable[[Any, Any, Use, Finer | None], None]


class Options(NamedTuple):
    """How tables are stored.

    Args:
        recipe: "int8", "int4" or "codes".
        counts: How often each row of a table occurs, by number of the graph and of the tensor.
        numbers_per_code: Numbers for which a code stands.
        seed: Seed of the codes.
        steps: Function that returns `range(count)`, perhaps with a progress bar.
        file_bytes: Size of the file.
    """

    recipe: str
    counts: Mapping[tuple[int, int], np.ndarray]
    numbers_per_code: int
    seed: int
    steps: Callable[[int, str], Iterable[int]]
    file_bytes: int


def shrink_constant(model: Any, found: FloatConstant, options: Options) -> Change:
    """Stores a constant in fewer bytes, or leaves it and says why.

    Args:
        model: `ModelT` of the schema, changed in place.
        found: The constant, from `float_constants`.
        options: How tables are stored.

    Returns: What became of it.
    """
    was = f"{found.dtype}{[*found.values.shape]}"

    def change(now: str, after: int = found.num_bytes, error: float = 0.0) -> Change:
        return Change(found.name, was, now, found.num_bytes, after, error)

    if found.others or not (found.is_table or found.is_kernel):
        return change(f"stays, for it is read by {', '.join(found.others) or 'nothing'}")
    if not np.abs(found.values).max() < LARGEST:
        return change("stays, for it has numbers that are not finite, or too large to be rounded")
    if found.is_table:
        return _shrink_table(model, found, options, change)
    stored = kernel_as_int8(model, found, SLIGHT * options.file_bytes)
    if isinstance(stored, str):
        return change(f"stays, for {stored}")
    error = _error(found.values, stored.values)
    if error > TOO_FAR:
        return change(f"stays, for int8 would change it by {error:.2f} of its size")
    for use in found.uses:
        write_kernel(model, model.subgraphs[use.graph], use.tensor, stored)
    return change(stored.now, stored.after, error)


def _shrink_table(
    model: Any, found: FloatConstant, options: Options, change: Callable[..., Change]
) -> Change:
    """Stores a table in the first way of the recipe that serves."""
    keys = [(use.graph, use.tensor) for use in found.uses]
    known = [options.counts[key] for key in keys if key in options.counts]
    counts = np.sum(known, axis=0) if known else None
    tied = found.is_kernel or found.values.ndim != 2
    reason = ""
    for way in ("int8",) if tied else WAYS[options.recipe]:
        if way == "codes" and _no_smaller_than_integers(found.values, options):
            continue
        if way == "codes":
            stored = _codes(found.values, counts, options)
        else:
            stored = _integers(found.values, 8 if way == "int8" else 4)
            if way == "int4" and stored.after + _graph(found, way) >= _bytes_as_int8(found):
                continue
        error = _error(found.values, stored.values)
        if stored.after + _graph(found, way) >= found.num_bytes:
            reason = f"{way} costs more"
        elif error > TOO_FAR:
            reason = f"{way} would change it by {error:.2f} of its size"
        else:
            finer = None if tied or counts is None else _finer(found.values, stored.values, counts)
            for use in found.uses:
                stored.write(model, model.subgraphs[use.graph], use, finer)
            now, after, values = stored.now, stored.after, stored.values.copy()
            if finer is not None:
                values[: len(finer.codes)] += finer.codes * finer.scale
                after += finer.codes.size + 4 * len(finer.scale)
                now += f"; 8 bits more for the first {len(finer.codes)} rows"
            return change(now, after, _error(found.values, values))
    return change(f"stays, for {reason}")


def _graph(found: FloatConstant, way: str) -> int:
    """Bytes of the operators that a table's lookups take: each has its own."""
    lookups = max(1, sum(len(use.lookups) for use in found.uses))
    cut = CUT if way == "int4" and found.values.shape[-1] % 2 else 0
    return GRAPH[way] + LOOKUP[way] * (lookups - 1) + cut * lookups


def _bytes_as_int8(found: FloatConstant) -> int:
    """What a table takes as int8: less than as int4, if rows are of one number, or lookups many."""
    return found.values.size + 4 * found.values.shape[-1] + _graph(found, "int8")


def _integers(values: np.ndarray, bits: int) -> _Stored:
    """A table as integers with a scale for each column."""
    flat = values.reshape(-1, values.shape[-1])
    codes, scale = quantize_columns(flat, bits)
    now = f"int{bits}, a scale for each of {len(scale)} columns"
    rows = codes.reshape(values.shape)

    def write(model: Any, graph: Any, use: Use, finer: Finer | None) -> None:
        if use.lookups:
            store_as_integers(model, graph, use.tensor, rows, scale, finer)
        if use.kernels:  # a tied table: the same bytes, with the same scales
            tied = StoredKernel(now, 0, rows, scale, values.ndim - 1)
            write_kernel(model, graph, use.tensor, tied)

    after = len(flat) * -(-len(scale) * bits // 8) + 4 * len(scale)  # a row is whole bytes
    return _Stored(now, after, rows * scale, write)


def _num_codes(values: np.ndarray, options: Options) -> int:
    """Number of codes for a row of `(V, d)`: of parts that are equally wide."""
    width = values.shape[1]
    least = -(-width // options.numbers_per_code)
    return next(length for length in range(least, width + 1) if width % length == 0)


def _no_smaller_than_integers(values: np.ndarray, options: Options) -> bool:
    """Whether codes and codebooks take as much as int4, the next way.

    Codes of 4 bits a number or more always do: these are made only if they were asked for, and as
    finer codes, which are compared with int8.
    """
    length, (rows, width) = _num_codes(values, options), values.shape
    finer = 2 * length >= width
    if finer and width != length * options.numbers_per_code:
        return True
    integers = rows * width + GRAPH["int8"] if finer else rows * -(-width // 2) + GRAPH["int4"]
    return rows * length + min(CARDINALITY, rows) * width + GRAPH["codes"] >= integers


def _codes(values: np.ndarray, counts: np.ndarray | None, options: Options) -> _Stored:
    """A table as product codes of 8 bits, with codebooks of int8."""
    from kerascompact.ops.product_codes import product_codes

    rows, length = len(values), _num_codes(values, options)
    codes, books = product_codes(
        values,
        length,
        min(CARDINALITY, rows),
        None if counts is None else (counts + 1.0) ** DAMPED,
        seed=options.seed,
        max_points=16_384,
        steps=options.steps,
    )
    small, scale = quantize_columns(books)
    scale = scale.reshape(-1)
    found = scale * np.concatenate([small[j][codes[:, j]] for j in range(length)], axis=1)
    now = f"{length} codes of 8 bits, int8 codebooks"

    def write(model: Any, graph: Any, use: Use, finer: Finer | None) -> None:
        store_as_codes(model, graph, use.tensor, codes, small, scale, finer)

    return _Stored(now, codes.size + small.size + scale.nbytes, found, write)


def _finer(values: np.ndarray, stored: np.ndarray, counts: np.ndarray) -> Finer | None:
    """What the most frequent rows lack, if these are the first ones; else `None`.

    Words are usually numbered by frequency. The first rows that hold most lookups are few then, and
    in them a small error counts often: that of padding, in a mean of words, in every word.
    """
    shares = np.cumsum(counts) / max(1, counts.sum())
    count = int(np.searchsorted(shares, FREQUENT)) + 1
    if count > len(values) * FEW or not counts.sum():
        return None
    return Finer(*quantize_columns(values[:count] - stored[:count]))


def _error(values: np.ndarray, stored: np.ndarray) -> float:
    """Mean over the rows of their relative errors, so that a few large rows hide nothing."""
    exact, close = (np.asarray(array, np.float64) for array in (values, stored))  # of any size
    rows, apart = (array.reshape(len(values), -1) for array in (exact, close - exact))
    lengths, errors = (np.linalg.norm(array, axis=1) for array in (rows, apart))
    return float(np.mean(errors / np.where(lengths > 0, lengths, 1)))
