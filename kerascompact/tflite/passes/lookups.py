"""Pass that stores a float32 table that is looked up as integers with scales, or as codes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    become,
    dims_of,
    kind,
    new_buffer,
    new_tensor,
    users,
)
from kerascompact.tflite.layout import TYPE_NAMES

OPTIONS = schema.BuiltinOptions


def lookups_of(model: Any, graph: Any, table: int) -> list[Any]:
    """The operators of a graph that read rows of a table by ids.

    Args:
        model: `ModelT` of the schema.
        graph: Subgraph of it.
        table: Index of the table's tensor.
    """
    return [one for one in users(graph, table) if ids_of(model, one, table) is not None]


def ids_of(model: Any, operator: Any, table: int) -> int | None:
    """Index of the tensor of ids; `None` if the operator reads the table in another way."""
    which, inputs = kind(model, operator), operator.inputs
    if which == OP.EMBEDDING_LOOKUP and inputs[1] == table:
        return int(inputs[0])
    options = operator.builtinOptions or schema.GatherOptionsT()  # without any: all are 0
    if which == OP.GATHER and inputs[0] == table:
        return int(inputs[1]) if options.axis == 0 and options.batchDims == 0 else None
    return None


class Finer(NamedTuple):
    """What is added to the first rows of a table: `codes * scale`.

    `codes`: int8 `(rows, d)`; `scale`: float32 `(d,)`.
    """

    codes: np.ndarray
    scale: np.ndarray


def store_as_integers(
    model: Any,
    graph: Any,
    table: int,
    codes: np.ndarray,
    scale: np.ndarray,
    finer: Finer | None = None,
) -> None:
    """Stores a table as int8 with a scale for each column: `E[i] = scale * codes[i]`.

    Each lookup becomes a `GATHER` of int8 rows, a `CAST` and a `MUL`. `passes.int4` stores the
    integers in four bits, if all are within [-7, 7].

    Args:
        model: `ModelT` of the schema, changed in place.
        graph: Subgraph of the table.
        table: Index of the table's tensor.
        codes: int8, of the table's shape.
        scale: float32, one for each index of the last dimension.
        finer: What is added to the first rows.
    """
    stored = new_tensor(graph, TYPE.INT8, codes.shape, new_buffer(model, codes))
    factors = _constant(model, graph, scale)

    def chain(ids: int, result: int) -> list[Any]:
        return _scaled_rows(model, graph, stored, factors, ids, result)

    _rewrite(model, graph, table, chain, finer)


def store_as_codes(
    model: Any,
    graph: Any,
    table: int,
    codes: np.ndarray,
    codebooks: np.ndarray,
    scale: np.ndarray,
    finer: Finer | None = None,
) -> None:
    """Stores a table as codes of 8 bits: `E[i] = scale * [W_1[c_i1]; ...; W_D[c_iD]]`.

    Each lookup becomes a `GATHER` of codes and one of the codebooks, a `CAST` and a `MUL`.

    Args:
        model: `ModelT` of the schema, changed in place.
        graph: Subgraph of the table.
        table: Index of the table's tensor, `(V, d)`.
        codes: `(V, D)`, integers below `K <= 256`.
        codebooks: int8 `(D, K, d / D)`.
        scale: float32, one for each of the `d` columns.
        finer: What is added to the first rows.
    """
    count, size, width = codebooks.shape
    small = new_tensor(graph, TYPE.UINT8, codes.shape, new_buffer(model, codes.astype(np.uint8)))
    stored = new_tensor(graph, TYPE.INT8, [count * size, width], new_buffer(model, codebooks))
    first = _constant(model, graph, np.arange(count, dtype=np.int32) * size)
    factors = _constant(model, graph, scale)

    def chain(ids: int, result: int) -> list[Any]:
        found = _like(graph, result, TYPE.UINT8, count)
        wide, placed = (_like(graph, result, TYPE.INT32, count) for _ in range(2))
        parts, rows = _like(graph, result, TYPE.INT8, count, width), _like(graph, result, TYPE.INT8)
        return [
            _gather(model, small, ids, found, version=1),
            _cast(model, found, wide, version=1),
            _node(model, OP.ADD, 1, [wide, first], placed, OPTIONS.AddOptions),
            _gather(model, stored, placed, parts, version=2),
            *_reshape(model, graph, parts, rows),
            *_scaled(model, graph, rows, factors, result),
        ]

    _rewrite(model, graph, table, chain, finer)


def _rewrite(
    model: Any,
    graph: Any,
    table: int,
    chain: Callable[[int, int], list[Any]],
    finer: Finer | None,
) -> None:
    """Replaces each lookup of a table by a chain of operators from the ids to its result."""
    if finer is not None:  # all ids from the last row on read zeros
        rows = np.pad(finer.codes, ((0, 1), (0, 0)))
        added = new_tensor(graph, TYPE.INT8, rows.shape, new_buffer(model, rows))
        factors = _constant(model, graph, finer.scale)
    for operator in lookups_of(model, graph, table):
        ids, result = ids_of(model, operator, table), int(operator.outputs[0])
        assert ids is not None
        if finer is None:
            made = chain(ids, result)
        else:
            coarse, fine = (_like(graph, result, TYPE.FLOAT32) for _ in range(2))
            last = _constant(model, graph, np.array(len(finer.codes), _dtype(graph.tensors[ids])))
            near = new_tensor(graph, graph.tensors[ids].type, graph.tensors[ids].shape, 0)
            graph.tensors[near].shapeSignature = graph.tensors[ids].shapeSignature
            made = [
                *chain(ids, coarse),
                _node(model, OP.MINIMUM, 1, [ids, last], near, OPTIONS.MaximumMinimumOptions),
                *_scaled_rows(model, graph, added, factors, near, fine),
                _node(model, OP.ADD, 1, [coarse, fine], result, OPTIONS.AddOptions),
            ]
        place = next(i for i, one in enumerate(graph.operators) if one is operator)
        graph.operators[place : place + 1] = made


def _scaled_rows(
    model: Any, graph: Any, stored: int, factors: int, ids: int, result: int
) -> list[Any]:
    """Operators that look up int8 rows and multiply them with a scale for each column."""
    rows = _like(graph, result, TYPE.INT8)
    made = _gather(model, stored, ids, rows, version=2)
    return [made, *_scaled(model, graph, rows, factors, result)]


def _scaled(model: Any, graph: Any, rows: int, factors: int, result: int) -> list[Any]:
    """Operators that multiply int8 rows with a scale for each column."""
    numbers = _like(graph, result, TYPE.FLOAT32)
    return [
        _cast(model, rows, numbers, version=3),
        _node(model, OP.MUL, 1, [numbers, factors], result, OPTIONS.MulOptions),
    ]


def _reshape(model: Any, graph: Any, source: int, target: int) -> list[Any]:
    """Operators that join the last two dimensions; one dimension at most may be open."""
    dims = dims_of(graph.tensors[target])
    if dims.count(-1) < 2:
        shape = _constant(model, graph, np.array(dims, np.int32))
        return [_node(model, OP.RESHAPE, 1, [source, shape], target)]
    # Several open dimensions: the shape is known only in a run.
    rank = len(dims)
    whole, outer = (new_tensor(graph, TYPE.INT32, [size], 0) for size in (rank + 1, rank - 1))
    shape = new_tensor(graph, TYPE.INT32, [rank], 0)
    begin, size, last = (
        _constant(model, graph, np.array(numbers, np.int32))
        for numbers in ([0], [rank - 1], [dims[-1]])
    )
    return [
        _node(model, OP.SHAPE, 1, [source], whole, OPTIONS.ShapeOptions, outType=TYPE.INT32),
        _node(model, OP.SLICE, 1, [whole, begin, size], outer, OPTIONS.SliceOptions),
        _node(
            model, OP.CONCATENATION, 1, [outer, last], shape, OPTIONS.ConcatenationOptions, axis=0
        ),
        _node(model, OP.RESHAPE, 1, [source, shape], target),
    ]


def _gather(model: Any, table: int, ids: Any, rows: int, version: int) -> Any:
    return _node(model, OP.GATHER, version, [table, ids], rows, OPTIONS.GatherOptions)


def _cast(model: Any, source: int, target: int, version: int) -> Any:
    return _node(model, OP.CAST, version, [source], target)


def _node(
    model: Any,
    which: int,
    version: int,
    inputs: list[Any],
    output: int,
    option_kind: int = 0,
    **fields: int,
) -> Any:
    node = schema.OperatorT()
    node.inputs, node.outputs = np.array(inputs, np.int32), np.array([output], np.int32)
    options = None
    if option_kind:
        names = {value: name for name, value in vars(OPTIONS).items()}
        options = getattr(schema, names[option_kind] + "T")()
        for name, value in fields.items():
            setattr(options, name, value)
    become(model, node, which, version, option_kind, options)
    return node


def _constant(model: Any, graph: Any, numbers: np.ndarray) -> int:
    type_ = getattr(TYPE, str(numbers.dtype).upper())
    return new_tensor(graph, type_, numbers.shape, new_buffer(model, numbers))


def _dtype(tensor: Any) -> np.dtype:
    """NumPy's type of a tensor of ids, which `GATHER` takes in 16, 32 and 64 bits."""
    return np.dtype(TYPE_NAMES[tensor.type].lower())


def _like(graph: Any, result: int, type_: int, *last: int) -> int:
    """A tensor of another type, and with other last dimensions, than the result of a lookup."""
    tensor = graph.tensors[result]
    made = new_tensor(graph, type_, [*tensor.shape[: -1 if last else None], *last], 0)
    if tensor.shapeSignature is not None:
        signature = [*tensor.shapeSignature[: -1 if last else None], *last]
        graph.tensors[made].shapeSignature = np.array(signature, np.int32)
    return made
