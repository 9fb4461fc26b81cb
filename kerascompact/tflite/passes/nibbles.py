"""Pass that reads codes of 4 bits as INT4, which the runtime unpacks by itself."""

from typing import Any, NamedTuple

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    become,
    constant,
    drop_unused,
    kind,
    new_buffer,
    new_tensor,
    users,
    widen,
)

OPTIONS = schema.BuiltinOptions
HALF = 8  # INT4 is signed: a code is stored less 8


class _Codes(NamedTuple):
    """Operators that read codes of a table of bytes, and the tensor that they make of them."""

    gather: Any
    transpose: Any
    cast: Any
    result: int
    first: Any
    graph: Any


def read_codes_as_int4(model: Any) -> None:
    """Reads two codes in a byte by `GATHER` and `CAST` of INT4, without arithmetic on bits.

    `bits.unpack_rows` and `unpack_columns` become, in the file, `codes - 8 + (8 + first)` in
    float32, which is exact, and a `CAST` to int32: 4 or 5 operators in place of 7 or 8. 16 codes of
    32 words take 0.2 us in place of 1.4. The file needs runtime 2.15 (November 2023) or newer. A
    table that anything else reads stays as it is.

    Args:
        model: Parsed model, changed in place.
    """
    found: dict[int, list[_Codes | None]] = {}  # by the buffer, which several graphs may share
    for graph in model.subgraphs:
        for index, table in enumerate(graph.tensors):
            if table.type == TYPE.UINT8 and constant(model, table, np.uint8) is not None:
                ones = [_codes(model, graph, index, user) for user in users(graph, index)]
                found.setdefault(table.buffer, []).extend(ones)
    for buffer, every in found.items():
        known = [one for one in every if one is not None]
        if not known or len(known) < len(every):
            continue
        data = np.array(model.buffers[buffer].data, np.uint8)
        signed = new_buffer(model, data ^ (HALF | HALF << 4))
        for graph in model.subgraphs:
            for table in graph.tensors:
                if table.buffer == buffer and table.type == TYPE.UINT8:
                    table.type, table.buffer = TYPE.INT4, signed
                    widen(table, 2 * table.shape[-1])
        for one in known:
            _read_as_int4(model, one)
        for graph in model.subgraphs:
            drop_unused(graph)


def _codes(model: Any, graph: Any, table: int, gather: Any) -> _Codes | None:
    """The operators of `ops.bits` that follow a `GATHER` of rows of bytes, if it is one."""
    if kind(model, gather) != OP.GATHER or gather.inputs[0] != table:
        return None
    options, shape = gather.builtinOptions, graph.tensors[table].shape
    if options.axis or options.batchDims or len(shape) != 2:
        return None
    transpose = _reader(model, graph, gather, OP.TRANSPOSE)
    cast = _reader(model, graph, gather if transpose is None else transpose, OP.CAST)
    if cast is None or graph.tensors[cast.outputs[0]].type != TYPE.INT32:
        return None
    if cast.outputs[0] in graph.outputs:
        return None
    halves = users(graph, cast.outputs[0])
    if [kind(model, one) for one in halves] != [OP.FLOOR_MOD, OP.RIGHT_SHIFT]:
        return None
    if [_numbers(model, graph, one, 1) for one in halves] != [[16], [4]]:
        return None
    low, high = (_reader(model, graph, one, OP.PACK) for one in halves)
    if low is None or low is not high or [*low.inputs] != [one.outputs[0] for one in halves]:
        return None
    # The halves of a byte must follow each other in the dimension of the codes, the last or first.
    rank = len(graph.tensors[cast.outputs[0]].shape)
    if transpose is None:
        beside = low.builtinOptions.axis in (rank, -1)
    else:
        first = [rank - 1, *range(rank - 1)]
        beside = low.builtinOptions.axis == 1 and _numbers(model, graph, transpose, 1) == first
    reshape = _reader(model, graph, low, OP.RESHAPE)
    if not beside or reshape is None or len(graph.tensors[reshape.outputs[0]].shape) != rank:
        return None
    add = _reader(model, graph, reshape, OP.ADD)
    if add is not None and add.inputs[0] == reshape.outputs[0]:
        added = constant(model, graph.tensors[add.inputs[1]], np.int32)
        if added is not None and not add.builtinOptions.fusedActivationFunction:
            return _Codes(gather, transpose, cast, int(add.outputs[0]), added, graph)
    return _Codes(gather, transpose, cast, int(reshape.outputs[0]), np.int32(0), graph)


def _read_as_int4(model: Any, codes: _Codes) -> None:
    graph, gather, transpose, cast = codes.graph, codes.gather, codes.transpose, codes.cast
    rows = graph.tensors[gather.outputs[0]]
    rows.type = TYPE.INT4
    widen(rows, 2 * rows.shape[-1])
    become(model, gather, OP.GATHER, 7, gather.builtinOptionsType, gather.builtinOptions)
    numbers = _like(graph, int(gather.outputs[0]))
    maker = next(o for o in graph.operators if codes.result in o.outputs)
    maker.outputs = np.array([_like(graph, codes.result, TYPE.INT32)], np.int32)  # nobody reads it
    made = [_cast(model, int(gather.outputs[0]), numbers, TYPE.INT4, TYPE.FLOAT32)]
    if transpose is not None:
        turned = _like(graph, codes.result)
        made.append(_operator([numbers, int(transpose.inputs[1])], turned))
        options = schema.TransposeOptionsT()
        become(model, made[-1], OP.TRANSPOSE, 1, OPTIONS.TransposeOptions, options)
        numbers = turned
    first = (codes.first + HALF).astype(np.float32)
    added = new_tensor(graph, TYPE.FLOAT32, first.shape, new_buffer(model, first))
    sums = _like(graph, codes.result)
    made.append(_operator([numbers, added], sums))
    become(model, made[-1], OP.ADD, 1, OPTIONS.AddOptions, schema.AddOptionsT())
    made.append(_cast(model, sums, codes.result, TYPE.FLOAT32, TYPE.INT32))
    place = next(i for i, one in enumerate(graph.operators) if one is cast)
    graph.operators[place:place] = made


def _reader(model: Any, graph: Any, operator: Any, wanted: int) -> Any:
    """The only reader of what an operator makes, if it is of the wanted kind, else `None`."""
    made = operator.outputs[0]
    found = users(graph, made)
    only = len(found) == 1 and made not in graph.outputs
    return found[0] if only and kind(model, found[0]) == wanted else None


def _numbers(model: Any, graph: Any, operator: Any, place: int) -> list[int] | None:
    data = constant(model, graph.tensors[operator.inputs[place]], np.int32)
    return None if data is None else data.reshape(-1).tolist()


def _like(graph: Any, index: int, type_: int = TYPE.FLOAT32) -> int:
    """A new tensor of the shape of another."""
    source = graph.tensors[index]
    made = new_tensor(graph, type_, source.shape, 0)
    if source.shapeSignature is not None:
        graph.tensors[made].shapeSignature = np.array(source.shapeSignature, np.int32)
    return made


def _operator(inputs: list[int], output: int) -> Any:
    made = schema.OperatorT()
    made.inputs, made.outputs = np.array(inputs, np.int32), np.array([output], np.int32)
    return made


def _cast(model: Any, source: int, result: int, before: int, after: int) -> Any:
    made, options = _operator([source], result), schema.CastOptionsT()
    options.inDataType, options.outDataType = before, after
    become(model, made, OP.CAST, 6 if before == TYPE.INT4 else 1, OPTIONS.CastOptions, options)
    return made
