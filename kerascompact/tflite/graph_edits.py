"""Graph edits that the passes share: add tensors and buffers, change and drop operators."""

from typing import Any

import numpy as np

from kerascompact.tflite.flatbuffer import schema

OP, TYPE = schema.BuiltinOperator, schema.TensorType


def kind(model: Any, operator: Any) -> int:
    """Number of a node's operator in the schema's `BuiltinOperator`."""
    code = model.operatorCodes[operator.opcodeIndex]
    return max(code.builtinCode, code.deprecatedBuiltinCode)


# First runtime with each version of an operator that the passes write, as TensorFlow's converter
# records it; first versions are as old as what the converter itself wrote.
RUNTIMES = {
    (OP.CAST, 3): "2.8.0",  # int8
    (OP.CAST, 6): "2.15.0",  # INT4
    (OP.CONV_2D, 5): "2.4.0",  # float32 inputs, an int8 kernel
    (OP.DEQUANTIZE, 2): "1.14.0",  # int8
    (OP.DEQUANTIZE, 5): "2.7.0",  # a scale for each output
    (OP.EMBEDDING_LOOKUP, 4): "2.18.0",  # INT4, a scale for each row
    (OP.FULLY_CONNECTED, 9): "2.3.0",  # inputs rounded with a zero point
    (OP.FULLY_CONNECTED, 12): "2.17.0",  # a scale for each output
    (OP.GATHER, 2): "1.14.0",  # int8
    (OP.GATHER, 7): "2.15.0",  # INT4
    (OP.QUANTIZE, 2): "1.15.0",
    (OP.SLICE, 2): "1.14.0",  # int8
    (OP.WHERE, 2): "2.8.0",  # numbers
}


def become(
    model: Any, operator: Any, kind: int, version: int, option_kind: int = 0, options: Any = None
) -> None:
    """Changes the kind, the version and the options of an operator; the file says what that needs.

    Args:
        model: `ModelT` that the operator belongs to, changed in place.
        operator: `OperatorT` of the schema, changed in place.
        kind: Number of the new operator in `BuiltinOperator`.
        version: Version of the new operator.
        option_kind: Number of its options in `BuiltinOptions`; 0 for none.
        options: Table of its options.
    """
    wanted = (kind, version)
    known = [(max(c.builtinCode, c.deprecatedBuiltinCode), c.version) for c in model.operatorCodes]
    if wanted not in known:
        code = schema.OperatorCodeT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = kind, min(kind, 127), version
        model.operatorCodes.append(code)
        known.append(wanted)
    if version > 1:
        needs_runtime(model, RUNTIMES[wanted])
    operator.opcodeIndex = known.index(wanted)
    operator.builtinOptionsType, operator.builtinOptions = option_kind, options


def users(graph: Any, tensor: int) -> list[Any]:
    """Operators of a graph that read the tensor with this index."""
    return [operator for operator in graph.operators if tensor in operator.inputs]


def constant(model: Any, tensor: Any, dtype: Any) -> np.ndarray | None:
    """Numbers of a constant tensor; `None` if it is not constant or its size does not fit."""
    data = model.buffers[tensor.buffer].data
    if data is None or tensor.shape is None:
        return None
    data = np.array(data, np.uint8)
    size = int(np.prod(tensor.shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    return data.view(dtype).reshape(tensor.shape) if 0 < size == data.size else None


def new_buffer(model: Any, data: np.ndarray) -> int:
    """Adds a buffer with these numbers and returns its index."""
    buffer = schema.BufferT()
    buffer.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), np.uint8)
    model.buffers.append(buffer)
    return len(model.buffers) - 1


def new_tensor(graph: Any, type_: int, shape: Any, buffer: int, scale: Any = None) -> int:
    """Adds a tensor to a graph and returns its index.

    Args:
        graph: Subgraph of a parsed model, changed in place.
        type_: Number of the tensor's type in `TensorType`.
        shape: Size of each dimension.
        buffer: Index of its buffer; 0 for a tensor that an operator writes.
        scale: Scale of its quantization, one or one per index of the first dimension; `None`: the
            tensor is not quantized.
    """
    tensor = schema.TensorT()
    tensor.type, tensor.buffer, tensor.shape = type_, buffer, np.array(shape, np.int32)
    if scale is not None:
        tensor.quantization = affine(scale)
    graph.tensors.append(tensor)
    return len(graph.tensors) - 1


def widen(tensor: Any, width: int) -> None:
    """Changes the size of a tensor's last dimension."""
    tensor.shape = np.array([*tensor.shape[:-1], width], np.int32)
    if tensor.shapeSignature is not None:
        tensor.shapeSignature = np.array([*tensor.shapeSignature[:-1], width], np.int32)


def dims_of(tensor: Any) -> list[int]:
    """Size of each dimension of a tensor; -1 for one that is open."""
    dims = tensor.shape if tensor.shapeSignature is None else tensor.shapeSignature
    return [] if dims is None else [int(n) for n in dims]


def affine(scale: Any, axis: int = 0) -> Any:
    """Quantization parameters with zero points 0.

    Args:
        scale: One scale, or one for each index of a dimension.
        axis: Dimension that the scales belong to.
    """
    made = schema.QuantizationParametersT()
    made.scale = np.atleast_1d(np.asarray(scale, np.float32))
    made.zeroPoint = np.zeros(len(made.scale), np.int64)
    made.quantizedDimension = axis
    return made


def runtime_of(model: Any) -> str:
    """Oldest version of the runtime that can run the file, as the file says; "" if it does not."""
    entry = _runtime_entry(model)
    if entry is None:
        return ""
    text = bytes(bytearray(model.buffers[entry.buffer].data)).rstrip(b"\0")
    return text.decode("ascii", "replace")


def needs_runtime(model: Any, version: str) -> None:
    """Raises the oldest version of the runtime in a file to `version`, if it is lower."""
    entry = _runtime_entry(model)
    if entry is not None and _numbers(runtime_of(model)) < _numbers(version):
        padded = np.frombuffer(version.encode().ljust(16, b"\0"), np.uint8)
        entry.buffer = new_buffer(model, padded)


def _runtime_entry(model: Any) -> Any:
    named = [one for one in model.metadata or [] if one.name == b"min_runtime_version"]
    return next((one for one in named if model.buffers[one.buffer].data is not None), None)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".") if part.isdigit()]


def drop_unused(graph: Any) -> None:
    """Removes operators whose outputs nobody reads, and the constants that only they read.

    An operator without outputs stays: it writes a variable, or runs the graph that does.
    """
    while True:
        read = {int(index) for operator in graph.operators for index in operator.inputs}
        read |= {int(index) for index in graph.outputs}
        kept = [
            one
            for one in graph.operators
            if not len(one.outputs) or any(int(index) in read for index in one.outputs)
        ]
        if len(kept) == len(graph.operators):
            break
        graph.operators = kept
    details = [one.quantization.details for one in graph.tensors if one.quantization is not None]
    read |= {one.scales for one in details if one is not None}  # block scales are a tensor
    for index, tensor in enumerate(graph.tensors):
        if index not in read:
            tensor.buffer = 0  # the empty buffer
