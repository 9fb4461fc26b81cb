"""Pass that stores the kernels of dense, convolutional and recurrent layers as int8."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.core.quantize import quantize_columns
from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    affine,
    become,
    constant,
    kind,
    new_buffer,
    new_tensor,
    users,
)

LARGEST = 127
SAME = 1e-6  # relative tolerance: a few roundings of float32 products
NODE_BYTES = 150  # what one more operator and tensor cost in the file
KERNEL_OPS = {
    OP.FULLY_CONNECTED,
    OP.CONV_2D,
    OP.DEPTHWISE_CONV_2D,
    OP.TRANSPOSE_CONV,
    OP.BATCH_MATMUL,
    OP.MUL,
    OP.ADD,
    OP.SUB,
    OP.UNIDIRECTIONAL_SEQUENCE_LSTM,
}
# Operators that can multiply an int8 kernel with float32 inputs, and the version that can.
HYBRID = {OP.FULLY_CONNECTED: 12, OP.CONV_2D: 5}


def pays(shape: Sequence[int], axis: int = -1) -> bool:
    """Whether a float32 kernel takes fewer bytes as int8 with a scale for each index of `axis`.

    A scale costs 4 bytes and its zero point 8.

    Args:
        shape: Shape of the kernel.
        axis: Dimension that the scales belong to.

    >>> pays((100, 3)), pays((2, 300))
    (True, False)
    """
    return len(shape) > 1 and 3 * math.prod(shape) > 12 * shape[axis] + NODE_BYTES


def axis_of_scales(shape: Sequence[int], outputs: int = -1, inputs: bool = True) -> int | None:
    """The axis of a kernel's scales; `None` if the kernel takes fewer bytes as float32.

    There is one scale for each output. A matrix with more outputs than inputs, such as the head of
    many classes over a narrow vector, gets one for each input instead, which are fewer.

    Args:
        shape: Shape of the kernel.
        outputs: Axis of the outputs.
        inputs: Whether a matrix may have one scale per input.

    >>> axis_of_scales((100, 3)), axis_of_scales((16, 150)), axis_of_scales((2, 2))
    (-1, -2, None)
    """
    axis = -2 if inputs and len(shape) == 2 and shape[-2] < shape[-1] else outputs
    return axis if pays(shape, axis) else None


def rounded(kernel: np.ndarray, axis: int = -1) -> np.ndarray:
    """Rounds a kernel to int8 and returns the float32 numbers `q s` that these integers stand for.

    Args:
        kernel: Finite float32 array with at least two dimensions.
        axis: Axis with one scale `s` per index, such as the outputs.

    Returns: Float32 of the same shape; the kernel itself, if it is rounded already.

    >>> (rounded(np.array([[1.27], [0.304]], "float32")) * 100).round(3).tolist()
    [[127.0], [30.0]]
    """
    if as_integers(kernel, axis) is not None:
        return kernel
    moved = np.moveaxis(kernel, axis, -1)
    codes, scale = quantize_columns(moved.reshape(-1, moved.shape[-1]))
    return np.moveaxis((codes * scale).reshape(moved.shape), -1, axis)


def as_integers(kernel: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Finds the int8 numbers and scales of a kernel that `rounded` made; `None` for any other.

    The converter transposes, joins and splits kernels, and multiplies them with the scales of a
    batch normalization. So the integers are found from the numbers alone: all numbers of an output
    must be multiples of one step, with factors from -127 to 127.

    Args:
        kernel: Float32 array with at least two dimensions.
        axis: Axis with one scale per index.

    Returns: The int8 numbers, of the kernel's shape, and the float32 scales.

    >>> codes, scale = as_integers(np.array([[254.0], [2.0]], "float32"), axis=1)
    >>> codes.tolist(), scale.tolist()
    ([[127], [1]], [2.0])
    """
    moved = np.moveaxis(kernel, axis, -1)
    columns = moved.reshape(-1, moved.shape[-1])
    largest = np.abs(columns).max(axis=0)
    scale = np.where(largest > 0, largest / np.float32(LARGEST), 1).astype(np.float32)
    for column in np.flatnonzero(~_fits(columns, scale)):
        steps = (largest[column] / np.arange(LARGEST, 0, -1, dtype=np.float32)).astype(np.float32)
        fitting = np.flatnonzero(_fits(np.repeat(columns[:, [column]], LARGEST, axis=1), steps))
        if not len(fitting):
            return None
        scale[column] = steps[fitting[0]]
    # The scale that was multiplied is this float32 number or one of its two neighbours.
    choices = np.stack([scale, np.nextafter(scale, np.float32(np.inf)), np.nextafter(scale, 0)])
    codes = np.rint(columns / scale)
    wrong = np.stack([np.count_nonzero(codes * one != columns, axis=0) for one in choices])
    scale = np.take_along_axis(choices, np.argmin(wrong, axis=0)[None], axis=0)[0]
    codes = np.moveaxis(codes.reshape(moved.shape), -1, axis)
    return codes.astype(np.int8), scale.astype(np.float32)


def _fits(columns: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Whether each column holds only multiples of its scale."""
    multiples = columns.astype(np.float64) / scale
    return np.all(np.abs(np.rint(multiples) - multiples) <= SAME * np.abs(multiples), axis=0)


def store_kernels_as_int8(
    model: Any, dynamic: bool = False, scales: Sequence[np.ndarray] = ()
) -> None:
    """Stores every kernel that `rounded` made as int8, with a `DEQUANTIZE` before its first use.

    The runtime dequantizes once, at the first run, and keeps the float32 numbers: the file is
    small, speed and memory are those of a float32 kernel, and results are equal to the last bit. A
    scale costs 12 bytes, 8 of which are its zero point; kernels with equally many outputs share
    their zero points.

    Args:
        model: Parsed model, changed in place.
        dynamic: Whether to leave out the `DEQUANTIZE` before `FULLY_CONNECTED` and `CONV_2D`. The
            runtime then rounds their inputs to int8 in each run and multiplies integers.
        scales: Column scales of all tables. The converter multiplies a kernel that follows a table
            with these, so the kernel's numbers are no multiples of one step any more; such scales
            get a `MUL` of their own.
    """
    for graph in model.subgraphs:
        for index in range(len(graph.tensors)):
            _store(model, graph, index, dynamic, scales)


def _store(model: Any, graph: Any, index: int, dynamic: bool, scales: Sequence[np.ndarray]) -> None:
    tensor = graph.tensors[index]
    readers = users(graph, index)
    kernel = constant(model, tensor, np.float32) if tensor.type == TYPE.FLOAT32 else None
    if kernel is None or index in graph.outputs or not readers:
        return
    if not all(kind(model, reader) in KERNEL_OPS for reader in readers):
        return
    found = _found(kernel)
    if found is None and all(kind(model, one) == OP.FULLY_CONNECTED for one in readers):
        for scale in scales:
            parts = kernel / scale if kernel.shape[1:] == scale.shape else None
            found = None if parts is None else _found(parts)
            if found is not None and found[0] == 0:
                _scale_inputs(model, graph, readers, scale)
                break
    if found is None:
        return
    axis, codes, steps = found
    buffer = new_buffer(model, codes)
    if dynamic and axis == 0 and all(_takes_integers(model, reader, index) for reader in readers):
        tensor.type, tensor.buffer, tensor.quantization = TYPE.INT8, buffer, affine(steps)
        for reader in readers:
            which = kind(model, reader)
            options = reader.builtinOptionsType, reader.builtinOptions
            become(model, reader, which, HYBRID[which], *options)
        return
    stored = new_tensor(graph, TYPE.INT8, kernel.shape, buffer)
    graph.tensors[stored].quantization = affine(steps, axis)
    tensor.buffer = 0
    node = schema.OperatorT()
    node.inputs, node.outputs = np.array([stored], np.int32), np.array([index], np.int32)
    become(model, node, OP.DEQUANTIZE, 5)  # the first version with a scale for each output
    graph.operators.insert(0, node)


def _found(kernel: np.ndarray) -> tuple[int, np.ndarray, np.ndarray] | None:
    """Axis, integers and scales of a kernel, if it was rounded and int8 takes fewer bytes."""
    for axis in range(kernel.ndim):
        if pays(kernel.shape, axis):
            found = as_integers(kernel, axis)
            if found is not None:
                return axis, *found
    return None


def _takes_integers(model: Any, operator: Any, index: int) -> bool:
    return kind(model, operator) in HYBRID and operator.inputs[1] == index


def _scale_inputs(model: Any, graph: Any, readers: list[Any], scale: np.ndarray) -> None:
    """Multiplies the inputs of operators with one number for each column."""
    numbers = new_tensor(graph, TYPE.FLOAT32, scale.shape, new_buffer(model, scale))
    done: dict[int, int] = {}
    for reader in readers:
        given = int(reader.inputs[0])
        if given not in done:
            before = graph.tensors[given]
            done[given] = new_tensor(graph, TYPE.FLOAT32, before.shape, 0)
            graph.tensors[done[given]].shapeSignature = before.shapeSignature
            node = schema.OperatorT()
            node.inputs = np.array([given, numbers], np.int32)
            node.outputs = np.array([done[given]], np.int32)
            options = schema.BuiltinOptions.MulOptions, schema.MulOptionsT()
            become(model, node, OP.MUL, 1, *options)
            place = next(i for i, one in enumerate(graph.operators) if one is reader)
            graph.operators.insert(place, node)
        reader.inputs = np.array([done[given], *reader.inputs[1:]], np.int32)
