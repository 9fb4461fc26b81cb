"""Validation of a parsed TFLite model before the runtime loads it.

The runtime trusts a file: an index past the end, a missing input or a table whose size does not
match its shape crash the process. So every file is checked first.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kerascompact.tflite.layout import ITEM_BITS, TYPE_NAMES, schema
from kerascompact.tflite.operator_options import check_options
from kerascompact.tflite.operator_types import check_types
from kerascompact.tflite.operators import COUNTS, MANY, OPERATORS, OPTIONAL

MAX_BYTES = 2**31 - 1  # largest tensor: the runtime counts entries in int32


class TooLargeError(ValueError):
    """A tensor has more than `MAX_BYTES` bytes."""


def check_model(model: Any, size: int) -> None:
    """Checks everything that the runtime assumes about tensors, operators, signatures and graphs.

    Args:
        model: `ModelT` of the schema.
        size: Size of the file in bytes.

    Raises: ValueError, naming the first error.

    >>> check_model(kerascompact.tflite.layout.schema.ModelT(), 0)
    Traceback (most recent call last):
        ...
    ValueError: it has no graph
    """
    if not _listed(model.subgraphs) or not _listed(model.buffers):
        raise ValueError("it has no graph")
    if model.buffers[0].data is not None and len(model.buffers[0].data):
        raise ValueError("buffer 0, which must be empty, has content")
    for buffer in model.buffers:
        past = int(buffer.offset) + int(buffer.size)
        if buffer.offset > 1 and past > size:  # data behind the flatbuffer, in files over 2 GB
            raise ValueError(f"a buffer ends at byte {past}")
    for entry in _listed(model.metadata):
        if not 0 <= entry.buffer < len(model.buffers) or model.buffers[entry.buffer].data is None:
            raise ValueError("metadata without content")
    for graph in model.subgraphs:
        _check_graph(model, graph)
    for signature in _listed(model.signatureDefs):
        _index("a signature's graph", signature.subgraphIndex, model.subgraphs)
        tensors = _listed(model.subgraphs[signature.subgraphIndex].tensors)
        for port in (*_listed(signature.inputs), *_listed(signature.outputs)):
            _index("a signature's tensor", port.tensorIndex, tensors)
            if port.name is None:
                raise ValueError("an input or output of a signature has no name")
    _check_calls(model)


def _check_graph(model: Any, graph: Any) -> None:
    tensors = _listed(graph.tensors)
    for name, ports in (("input", graph.inputs), ("output", graph.outputs)):
        for index in _listed(ports):
            _index(f"the tensor of an {name}", index, tensors)
    constant = [_check_tensor(model, tensor) for tensor in tensors]
    for tensor in tensors:
        _check_blocks(tensor, constant)
    ready = {index for index, tensor in enumerate(tensors) if tensor.isVariable or constant[index]}
    for index in map(int, _listed(graph.inputs)):
        if constant[index]:
            raise ValueError("an input is a constant")
        ready.add(index)
    for operator in _listed(graph.operators):
        name = _check_operator(model, operator)
        for index in map(int, _listed(operator.inputs)):
            if index != -1:
                _index(f"an input of {name}", index, tensors)
                if index not in ready:
                    raise ValueError(f"{name} reads tensor {index} before it is computed")
        for index in map(int, _listed(operator.outputs)):
            _index(f"an output of {name}", index, tensors)
            if index in ready and not tensors[index].isVariable:
                raise ValueError(f"{name} writes tensor {index}, which already has a value")
            ready.add(index)
        check_types(name, operator, tensors)
    for index in map(int, _listed(graph.outputs)):
        if index not in ready:
            raise ValueError(f"output {index} is never computed")


def _check_tensor(model: Any, tensor: Any) -> bool:
    """Returns whether the tensor is a constant."""
    if tensor.type not in TYPE_NAMES:
        raise ValueError(f"a tensor has the unknown type {tensor.type}")
    shape = [int(n) for n in _listed(tensor.shape)]
    signature = [int(n) for n in _listed(tensor.shapeSignature)]
    if min(shape, default=0) < 0 or min(signature, default=0) < -1:
        raise ValueError(f"a tensor of shape {shape}")
    if tensor.isVariable and -1 in signature:
        raise ValueError("a variable tensor has an open size")
    if signature and (
        len(signature) != len(shape)
        or any(n not in (-1, m) for n, m in zip(signature, shape, strict=True))
    ):
        raise ValueError(f"a tensor of shape {shape} and signature {signature}")
    _index("a tensor's buffer", tensor.buffer, model.buffers)
    items = math.prod(shape)
    expected = -(-items * ITEM_BITS.get(tensor.type, 8) // 8)
    if expected > MAX_BYTES:
        raise TooLargeError(f"a tensor of shape {shape}, more than {MAX_BYTES:,} bytes")
    _check_quantization(tensor, shape)
    buffer = model.buffers[tensor.buffer]
    if buffer.data is None or not len(buffer.data):
        outside = buffer.offset > 1
        if outside and tensor.type in ITEM_BITS and not tensor.sparsity and buffer.size < expected:
            raise ValueError(f"a tensor has {buffer.size} of {expected} bytes")
        return bool(outside) or items == 0
    if tensor.type == schema.TensorType.STRING:
        _check_strings(np.asarray(buffer.data, np.uint8), items)
    elif tensor.sparsity is not None:
        _check_sparsity(tensor.sparsity, shape)
    elif tensor.type in ITEM_BITS and len(buffer.data) != expected:
        raise ValueError(f"a tensor has {len(buffer.data)} of {expected} bytes")
    return True


def _check_quantization(tensor: Any, shape: list[int]) -> None:
    quantization = tensor.quantization
    scales = _listed(None if quantization is None else quantization.scale)
    if quantization is None or not len(scales):
        return
    points, axis = _listed(quantization.zeroPoint), int(quantization.quantizedDimension)
    if not np.isfinite(scales).all() or np.min(scales) < 0:
        raise ValueError("a scale that is negative, infinite or NaN")
    if len(points) and len(points) != len(scales):
        raise ValueError(f"{len(scales)} scales and {len(points)} zero points")
    bits = ITEM_BITS.get(tensor.type, 8)
    if len(points) and np.abs(points).max() >= 2.0**bits:
        raise ValueError(f"a zero point is out of the range of {TYPE_NAMES[tensor.type]}")
    if len(scales) > 1 and not (0 <= axis < len(shape) and shape[axis] == len(scales)):
        raise ValueError(f"{len(scales)} scales along axis {axis} of the shape {shape}")


def _check_blocks(tensor: Any, constant: list[bool]) -> None:
    """Checks the tensors that hold a table's block scales; zero points -1 or 0 mean none."""
    details = None if tensor.quantization is None else tensor.quantization.details
    if not isinstance(details, schema.BlockwiseQuantizationT):
        return
    _index("the scales of blocks", details.scales, constant)
    if details.zeroPoints > 0:
        _index("the zero points of blocks", details.zeroPoints, constant)
    if not constant[details.scales] or details.blockSize < 1:
        raise ValueError("blocks have no scales or no size")


def _check_strings(data: np.ndarray, items: int) -> None:
    """Checks a string tensor: the count, the start of each string, the end, then the bytes."""
    words = data[: len(data) // 4 * 4].view("<i4")
    count = int(words[0]) if len(words) else -1
    if count != items or len(words) < count + 2:
        raise ValueError(f"a tensor of {items} strings holds {count}")
    starts = words[1 : count + 2]
    if starts[0] != 4 * (count + 2) or np.any(np.diff(starts) < 0) or starts[-1] > len(data):
        raise ValueError("a string of a tensor begins outside of it")


def _check_sparsity(sparsity: Any, shape: list[int]) -> None:
    order, blocks = _listed(sparsity.traversalOrder), _listed(sparsity.blockMap)
    dims = _listed(sparsity.dimMetadata)
    fits = len(order) == len(dims) == len(shape) + len(blocks)
    if not fits or sorted(order) != list(range(len(order))):
        raise ValueError("the dimensions of a sparse tensor do not fit")
    if any(not 0 <= block < len(shape) for block in blocks):
        raise ValueError("a block of a sparse tensor has no dimension")
    for dim in dims:
        if dim.format == schema.DimensionType.DENSE:
            if dim.denseSize < 1:
                raise ValueError("a dimension of a sparse tensor has no size")
            continue
        segments = _listed(getattr(dim.arraySegments, "values", None))
        indices = _listed(getattr(dim.arrayIndices, "values", None))
        steps = np.diff(np.asarray(segments, np.int64))
        if not len(segments) or segments[0] != 0 or segments[-1] != len(indices) or min(steps) < 0:
            raise ValueError("the segments of a sparse tensor do not fit its indices")
        if len(indices) and not 0 <= min(indices) <= max(indices) < max(shape):
            raise ValueError("an index of a sparse tensor lies outside of it")


def _check_operator(model: Any, operator: Any) -> str:
    """Returns the operator's name."""
    _index("an operator's code", operator.opcodeIndex, _listed(model.operatorCodes))
    code = model.operatorCodes[operator.opcodeIndex]
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    if number not in OPERATORS:
        raise ValueError(f"the unknown operator {number}")
    name = OPERATORS[number]
    if (name == "CUSTOM") != (code.customCode is not None):
        raise ValueError(f"{name} with the custom name {code.customCode}")
    inputs, outputs = _listed(operator.inputs), _listed(operator.outputs)
    least, most, outputs_least, outputs_most = COUNTS.get(name, (0, MANY, 0, MANY))
    if not (least <= len(inputs) <= most and outputs_least <= len(outputs) <= outputs_most):
        raise ValueError(f"{name} with {len(inputs)} inputs and {len(outputs)} outputs")
    left_out = [place for place, index in enumerate(inputs) if index == -1]
    if left_out and left_out[0] < OPTIONAL.get(name, MANY):
        raise ValueError(f"{name} without input {left_out[0]}")
    check_options(name, operator)
    return name


def _check_calls(model: Any) -> None:
    """Checks the graphs that operators call: they exist, fit, and do not call themselves."""
    calls: list[set[int]] = [set() for _ in model.subgraphs]
    for caller, graph in enumerate(model.subgraphs):
        for operator in _listed(graph.operators):
            for field, index in _called(operator):
                _index(f"a {field}", index, model.subgraphs)
                calls[caller].add(index)
                _check_ports(field, operator, model.subgraphs[index])
    done: set[int] = set()

    def visit(index: int, above: tuple[int, ...]) -> None:
        if index in above:
            raise ValueError(f"graph {index} calls itself")
        if index not in done:
            for inner in calls[index]:
                visit(inner, (*above, index))
            done.add(index)

    for index in range(len(calls)):
        visit(index, ())


def _called(operator: Any) -> Iterable[tuple[str, int]]:
    for options in (operator.builtinOptions, operator.builtinOptions2):
        for field, value in ({} if options is None else vars(options)).items():
            if "subgraphind" in field.lower() and value is not None:
                yield from ((field, int(index)) for index in np.atleast_1d(value))


_PORTS: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "condSubgraphIndex": lambda inputs, outputs: (inputs, 1),
    "bodySubgraphIndex": lambda inputs, outputs: (inputs, outputs),
    "thenSubgraphIndex": lambda inputs, outputs: (inputs - 1, outputs),
    "elseSubgraphIndex": lambda inputs, outputs: (inputs - 1, outputs),
    "initSubgraphIndex": lambda inputs, outputs: (0, 0),
}


def _check_ports(field: str, operator: Any, graph: Any) -> None:
    kinds = (schema.WhileOptionsT, schema.IfOptionsT, schema.CallOnceOptionsT)
    if not isinstance(operator.builtinOptions, kinds):
        return
    found = len(_listed(graph.inputs)), len(_listed(graph.outputs))
    wanted = _PORTS[field](len(_listed(operator.inputs)), len(_listed(operator.outputs)))
    if found != wanted and field != "initSubgraphIndex":
        raise ValueError(f"a {field} with {found[0]} inputs and {found[1]} outputs")


def _listed(entries: Any) -> Any:
    """A vector of the file; an absent one is `None`, or 0 from the generated code."""
    return () if entries is None or np.isscalar(entries) else entries


def _index(what: str, index: Any, entries: Any) -> None:
    if not 0 <= index < len(entries):
        raise ValueError(f"{what}: number {index} of {len(entries)}")
