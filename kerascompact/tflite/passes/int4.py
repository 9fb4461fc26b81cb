"""Passes that pack tables as int4 and dequantize int8 matrices once instead of in every run.

TensorFlow's converter cannot write int4 tables, and casts an int8 matrix again in every run. Both
passes edit the converter's file and change no result.
"""

from typing import Any

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


def dequantize_kernels_once(model: Any) -> None:
    """Makes the runtime dequantize an int8 matrix once, if all of its rows are used in every run.

    The converter writes `Form.full_table` as a `GATHER` of the only matrix in a stack and a `CAST`,
    which the runtime repeats in every run. This pass replaces both by a `DEQUANTIZE` with scale 1,
    which the runtime runs once, at the first use of a constant. The numbers are the same. A product
    of 32 vectors with a 100 x 300 matrix takes 20 us, as with a float matrix, instead of 28. The
    price is a float32 copy of the matrix in memory.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        gathers = [o for o in graph.operators if kind(model, o) == OP.GATHER]
        found = [_dequantize_once(model, graph, gather) for gather in gathers]
        if any(found):
            drop_unused(graph)


def _dequantize_once(model: Any, graph: Any, gather: Any) -> bool:
    table, found = (graph.tensors[i] for i in (gather.inputs[0], gather.outputs[0]))
    data = constant(model, table, np.int8) if table.type == TYPE.INT8 else None
    is_matrix = data is not None and data.ndim == 3 and len(data) == 1 and len(found.shape) == 2
    casts = users(graph, gather.outputs[0])
    if not is_matrix or not all(_is_cast_to_float(model, graph, cast) for cast in casts):
        return False
    matrix = new_tensor(graph, TYPE.INT8, table.shape[1:], table.buffer, scale=1)
    for cast in casts:
        cast.inputs = np.array([matrix], np.int32)
        become(model, cast, OP.DEQUANTIZE, 2)
    return True


def store_tables_as_int4(model: Any) -> None:
    """Packs two numbers into a byte in every int8 table that is gathered from and within [-8, 7].

    `GATHER` reads INT4 rows and `CAST` turns them into float32, which takes 0.7 us longer than int8
    for 32 rows of 300. The file needs runtime 2.15 (November 2023) or newer and says so in the
    versions of its operators: an older runtime refuses it. A row must be a number of complete
    bytes, so a table of odd width gets a column of zeros, which is cut off after the `CAST`.
    (TensorFlow's private option `_experimental_reduce_type_precision` adds no such column, and rows
    then start in the middle of a byte.)

    Args:
        model: Parsed model, changed in place.
    """
    made: dict[tuple[int, int], int] = {}  # of a buffer, which graphs may share, and its width
    for graph in model.subgraphs:
        for index in range(len(graph.tensors)):
            _pack_table(model, graph, index, made)


def _pack_table(model: Any, graph: Any, index: int, made: dict[tuple[int, int], int]) -> None:
    table = graph.tensors[index]
    data = constant(model, table, np.int8) if table.type == TYPE.INT8 else None
    if data is None or data.ndim != 2 or data.size == 0 or data.min() < -8 or data.max() > 7:
        return
    gathers = users(graph, index)
    casts = [user for gather in gathers for user in users(graph, gather.outputs[0])]
    if not casts or not all(_is_row_gather(model, gather, index) for gather in gathers):
        return
    if any(port in graph.outputs for gather in gathers for port in (index, gather.outputs[0])):
        return  # whoever reads this output expects int8
    if not all(_is_cast_to_float(model, graph, cast) for cast in casts):
        return
    width = data.shape[1]
    data = np.pad(data, ((0, 0), (0, width % 2)))
    nibbles = data.reshape(-1).view(np.uint8) & 15
    table.type, table.shape = TYPE.INT4, np.array(data.shape, np.int32)
    key = int(table.buffer), width
    if key not in made:
        made[key] = new_buffer(model, nibbles[::2] | nibbles[1::2] << 4)
    table.buffer = made[key]
    for gather in gathers:
        rows = graph.tensors[gather.outputs[0]]
        rows.type = TYPE.INT4
        widen(rows, data.shape[1])
        become(model, gather, OP.GATHER, 7, gather.builtinOptionsType, gather.builtinOptions)
    for cast in casts:
        if cast.builtinOptions is not None:
            cast.builtinOptions.inDataType = TYPE.INT4
        become(model, cast, OP.CAST, 6, cast.builtinOptionsType, cast.builtinOptions)
        if width % 2:
            _cut_last_column(model, graph, cast, width)


def _is_row_gather(model: Any, operator: Any, table: int) -> bool:
    options = operator.builtinOptions or schema.GatherOptionsT()
    rows = kind(model, operator) == OP.GATHER and operator.inputs[0] == table
    return rows and options.axis == 0 and options.batchDims == 0


def _is_cast_to_float(model: Any, graph: Any, operator: Any) -> bool:
    to_float = graph.tensors[operator.outputs[0]].type == TYPE.FLOAT32
    return kind(model, operator) == OP.CAST and to_float


def _cut_last_column(model: Any, graph: Any, cast: Any, width: int) -> None:
    """Adds a `SLICE` after a `CAST`; it writes the tensor that other operators read."""
    index = cast.outputs[0]
    result = graph.tensors[index]
    rank = len(result.shape)
    wide = schema.TensorT()
    wide.type, wide.buffer, wide.shape = TYPE.FLOAT32, 0, np.array(result.shape, np.int32)
    if result.shapeSignature is not None:
        wide.shapeSignature = np.array(result.shapeSignature, np.int32)
    widen(wide, width + 1)
    graph.tensors.append(wide)
    cast.outputs = np.array([len(graph.tensors) - 1], np.int32)
    ports = [cast.outputs[0]]
    for numbers in ([0] * rank, [-1] * (rank - 1) + [width]):  # begin, size; -1: up to the end
        buffer = new_buffer(model, np.array(numbers, np.int32))
        ports.append(new_tensor(graph, TYPE.INT32, [rank], buffer))
    slice_ = schema.OperatorT()
    slice_.inputs, slice_.outputs = np.array(ports, np.int32), np.array([index], np.int32)
    become(model, slice_, OP.SLICE, 1, schema.BuiltinOptions.SliceOptions, schema.SliceOptionsT())
    place = next(i for i, operator in enumerate(graph.operators) if operator is cast)
    graph.operators.insert(place + 1, slice_)
