"""Integers as narrow in the file, and as fast, as they can be. Needs no TensorFlow.

TensorFlow's converter has no tables of four bits, and casts an int8 matrix anew in each run. Both
passes work on what it wrote, and change no result.
"""

from typing import Any

import numpy as np

from kerascompact.export.flatbuffer import schema

OP, TYPE = schema.BuiltinOperator, schema.TensorType
INT4_RUNTIME = b"2.15.0"  # the first with GATHER and CAST of INT4


def dequantize_kernels_once(model: Any) -> None:
    """Lets the runtime turn an int8 matrix that is always used whole into float32 only once.

    `Form.whole` is in the converter's file a `GATHER` of the only matrix there is, and a `CAST`, in
    every run; here it becomes a `DEQUANTIZE` with scale 1, which the runtime does at the first use
    of a constant. The numbers are the same. A product of 32 vectors with 100 x 300 numbers takes
    20 us, as with a float matrix, in place of 28. The price is the matrix as float32 in memory.

    Args:
        model: A parsed model, changed in place.
    """
    for graph in model.subgraphs:
        gathers = [o for o in graph.operators if _kind(model, o) == OP.GATHER]
        found = [_dequantize_once(model, graph, gather) for gather in gathers]
        if any(found):
            _drop_unused(graph)


def _dequantize_once(model: Any, graph: Any, gather: Any) -> bool:
    table, found = (graph.tensors[i] for i in (gather.inputs[0], gather.outputs[0]))
    data = _constant(model, table, np.int8) if table.type == TYPE.INT8 else None
    whole = data is not None and data.ndim == 3 and len(data) == 1 and len(found.shape) == 2
    casts = _users(graph, gather.outputs[0])
    if not whole or not all(_is_cast_to_float(model, graph, cast) for cast in casts):
        return False
    matrix, scale = schema.TensorT(), schema.QuantizationParametersT()
    scale.scale, scale.zeroPoint = np.ones(1, np.float32), np.zeros(1, np.int64)
    matrix.type, matrix.quantization, matrix.buffer = TYPE.INT8, scale, table.buffer
    matrix.shape = np.array(table.shape[1:], np.int32)
    graph.tensors.append(matrix)
    for cast in casts:
        cast.inputs = np.array([len(graph.tensors) - 1], np.int32)
        _become(model, cast, OP.DEQUANTIZE, 2)
    return True


def _drop_unused(graph: Any) -> None:
    """Drops operators that no longer lead anywhere, and the constants that only they read."""
    while True:
        read = {int(index) for operator in graph.operators for index in operator.inputs}
        read |= {int(index) for index in graph.outputs}
        kept = [o for o in graph.operators if any(int(index) in read for index in o.outputs)]
        if len(kept) == len(graph.operators):
            break
        graph.operators = kept
    for index, tensor in enumerate(graph.tensors):
        if index not in read:
            tensor.buffer = 0  # the empty one


def store_tables_as_int4(model: Any) -> None:
    """Packs two numbers to a byte in every int8 table that is gathered from and within [-7, 7].

    `GATHER` reads rows of INT4 and `CAST` makes them float32, which takes 0.7 us longer for 32 rows
    of 300 than int8 does. Such a file needs a runtime of 2.15 (November 2023) or newer, and says so
    in its operators' versions: an older one refuses it. The kernel counts whole bytes in a row, so
    a table of an odd width gets a column of zeros, which is cut off after the `CAST`; the
    converter's own (private) option `_experimental_reduce_type_precision` does not, and rows then
    start at the wrong half of a byte.

    Args:
        model: A parsed model, changed in place.
    """
    packed = [
        _pack_table(model, graph, index)
        for graph in model.subgraphs
        for index in range(len(graph.tensors))
    ]
    if any(packed):
        for entry in model.metadata or []:
            if entry.name == b"min_runtime_version":
                text = np.frombuffer(INT4_RUNTIME.ljust(16, b"\0"), np.uint8)
                entry.buffer = _new_buffer(model, text)


def _pack_table(model: Any, graph: Any, index: int) -> bool:
    table = graph.tensors[index]
    data = _constant(model, table, np.int8) if table.type == TYPE.INT8 else None
    if data is None or data.ndim != 2 or data.size == 0 or np.abs(data.astype(int)).max() > 7:
        return False
    gathers = _users(graph, index)
    casts = [user for gather in gathers for user in _users(graph, gather.outputs[0])]
    if not casts or not all(_is_row_gather(model, gather, index) for gather in gathers):
        return False
    if not all(_is_cast_to_float(model, graph, cast) for cast in casts):
        return False
    width = data.shape[1]
    data = np.pad(data, ((0, 0), (0, width % 2)))
    nibbles = data.reshape(-1).view(np.uint8) & 15
    table.type, table.shape = TYPE.INT4, np.array(data.shape, np.int32)
    table.buffer = _new_buffer(model, nibbles[::2] | nibbles[1::2] << 4)
    for gather in gathers:
        rows = graph.tensors[gather.outputs[0]]
        rows.type = TYPE.INT4
        _widen(rows, data.shape[1])
        _become(model, gather, OP.GATHER, 7, gather.builtinOptionsType, gather.builtinOptions)
    for cast in casts:
        if cast.builtinOptions is not None:
            cast.builtinOptions.inDataType = TYPE.INT4
        _become(model, cast, OP.CAST, 6, cast.builtinOptionsType, cast.builtinOptions)
        if width % 2:
            _cut_last_column(model, graph, cast, width)
    return True


def _is_row_gather(model: Any, operator: Any, table: int) -> bool:
    options = operator.builtinOptions
    rows = _kind(model, operator) == OP.GATHER and operator.inputs[0] == table
    return rows and options.axis == 0 and options.batchDims == 0


def _is_cast_to_float(model: Any, graph: Any, operator: Any) -> bool:
    to_float = graph.tensors[operator.outputs[0]].type == TYPE.FLOAT32
    return _kind(model, operator) == OP.CAST and to_float


def _cut_last_column(model: Any, graph: Any, cast: Any, width: int) -> None:
    """Puts a `SLICE` behind a `CAST`, which writes the tensor that the others read."""
    index = cast.outputs[0]
    result = graph.tensors[index]
    rank = len(result.shape)
    wide = schema.TensorT()
    wide.type, wide.buffer, wide.shape = TYPE.FLOAT32, 0, np.array(result.shape, np.int32)
    if result.shapeSignature is not None:
        wide.shapeSignature = np.array(result.shapeSignature, np.int32)
    _widen(wide, width + 1)
    graph.tensors.append(wide)
    cast.outputs = np.array([len(graph.tensors) - 1], np.int32)
    ports = [cast.outputs[0]]
    for numbers in ([0] * rank, [-1] * (rank - 1) + [width]):  # begin, size; -1: all there are
        constant = schema.TensorT()
        constant.type, constant.shape = TYPE.INT32, np.array([rank], np.int32)
        constant.buffer = _new_buffer(model, np.array(numbers, np.int32))
        graph.tensors.append(constant)
        ports.append(len(graph.tensors) - 1)
    slice_ = schema.OperatorT()
    slice_.inputs, slice_.outputs = np.array(ports, np.int32), np.array([index], np.int32)
    _become(model, slice_, OP.SLICE, 1, schema.BuiltinOptions.SliceOptions, schema.SliceOptionsT())
    place = next(i for i, operator in enumerate(graph.operators) if operator is cast)
    graph.operators.insert(place + 1, slice_)


def _widen(tensor: Any, width: int) -> None:
    tensor.shape = np.array([*tensor.shape[:-1], width], np.int32)
    if tensor.shapeSignature is not None:
        tensor.shapeSignature = np.array([*tensor.shapeSignature[:-1], width], np.int32)


def _kind(model: Any, operator: Any) -> int:
    code = model.operatorCodes[operator.opcodeIndex]
    return max(code.builtinCode, code.deprecatedBuiltinCode)


def _become(
    model: Any, operator: Any, kind: int, version: int, option_kind: int = 0, options: Any = None
) -> None:
    """Makes an operator one of another kind or version."""
    wanted = (kind, version)
    known = [(max(c.builtinCode, c.deprecatedBuiltinCode), c.version) for c in model.operatorCodes]
    if wanted not in known:
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = kind, min(kind, 127), version
        model.operatorCodes.append(code)
        known.append(wanted)
    operator.opcodeIndex = known.index(wanted)
    operator.builtinOptionsType, operator.builtinOptions = option_kind, options


def _users(graph: Any, tensor: int) -> list[Any]:
    return [operator for operator in graph.operators if tensor in operator.inputs]


def _constant(model: Any, tensor: Any, dtype: Any) -> np.ndarray | None:
    data = model.buffers[tensor.buffer].data
    if data is None or tensor.shape is None:
        return None
    data = np.array(data, np.uint8)
    size = int(np.prod(tensor.shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    return data.view(dtype).reshape(tensor.shape) if 0 < size == data.size else None


def _new_buffer(model: Any, data: np.ndarray) -> int:
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1
