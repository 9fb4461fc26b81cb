"""Pass that stores the kernels of dense, convolutional and recurrent layers as int8."""

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

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
from kerascompact.tflite.passes.input_factors import InputFactors, fitted

SAME = 1e-6  # relative tolerance: a few roundings of float32 products
FEW = 64  # outputs that tell whether integers can be those of a kernel
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
    OP.DIV,
    OP.SQUARED_DIFFERENCE,
    OP.MAXIMUM,
    OP.MINIMUM,
    OP.CONCATENATION,
    OP.BROADCAST_TO,
    OP.UNIDIRECTIONAL_SEQUENCE_LSTM,
}
# Operators that can multiply an int8 kernel with float32 inputs, and the version that can.
HYBRID = {OP.FULLY_CONNECTED: 12, OP.CONV_2D: 5}


Found = tuple[int, np.ndarray, np.ndarray]  # axis, integers, scales


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


def store_kernels_as_int8(
    model: Any,
    known: Sequence[np.ndarray],
    dynamic: bool = False,
) -> None:
    """Stores every kernel that was rounded as int8, with a `DEQUANTIZE` before its first use.

    The runtime dequantizes once, at the first run, and keeps the float32 numbers: the file is
    small, speed and memory are those of a float32 kernel, and results are equal to the last bit. A
    scale costs 12 bytes, 8 of which are its zero point; kernels with equally many outputs share
    their zero points.

    Args:
        model: Parsed model, changed in place.
        known: Integers of the rounded kernels, int8, in the shapes that Keras gives them.
        dynamic: Whether to leave out the `DEQUANTIZE` before `FULLY_CONNECTED` and `CONV_2D`. The
            runtime then rounds their inputs to int8 in each run and multiplies integers.
    """
    for graph in model.subgraphs:
        factors = InputFactors(model, graph)
        for index in range(len(graph.tensors)):
            _store(model, graph, index, known, dynamic, factors)


def _store(
    model: Any,
    graph: Any,
    index: int,
    known: Sequence[np.ndarray],
    dynamic: bool,
    factors: InputFactors,
) -> None:
    tensor = graph.tensors[index]
    readers = users(graph, index)
    kernel = constant(model, tensor, np.float32) if tensor.type == TYPE.FLOAT32 else None
    if kernel is None or index in graph.outputs or not readers:
        return
    if not all(kind(model, reader) in KERNEL_OPS for reader in readers):
        return
    found = _found(kernel, known)
    if found is None and all(multiplies(model, one, index, OP.FULLY_CONNECTED) for one in readers):
        found = _found_with_factors(kernel, known, readers, factors)
    if found is None:
        return
    axis, codes, steps = found
    buffer = new_buffer(model, codes)
    if dynamic and axis == 0 and all(multiplies(model, one, index, *HYBRID) for one in readers):
        tensor.type, tensor.buffer, tensor.quantization = TYPE.INT8, buffer, affine(steps)
        for reader in readers:
            which = kind(model, reader)
            options = reader.builtinOptionsType, reader.builtinOptions
            become(model, reader, which, HYBRID[which], *options)
        return
    dequantize_first(model, graph, index, buffer, steps, axis)


def dequantize_first(
    model: Any, graph: Any, index: int, buffer: int, steps: np.ndarray, axis: int
) -> None:
    """Makes a float32 constant the result of a `DEQUANTIZE` of int8 numbers, run once.

    Args:
        model: `ModelT` of the schema, changed in place.
        graph: Subgraph of the constant.
        index: Index of its tensor.
        buffer: Index of the buffer with the int8 numbers.
        steps: Scales, one for each index of a dimension.
        axis: This dimension.
    """
    tensor = graph.tensors[index]
    stored = new_tensor(graph, TYPE.INT8, tensor.shape, buffer)
    graph.tensors[stored].quantization = affine(steps, axis)
    tensor.buffer = 0
    node = schema.OperatorT()
    node.inputs, node.outputs = np.array([stored], np.int32), np.array([index], np.int32)
    become(model, node, OP.DEQUANTIZE, 5)  # the first version with a scale for each output
    graph.operators.insert(0, node)


def _found(kernel: np.ndarray, known: Sequence[np.ndarray]) -> Found | None:
    """Finds axis, integers and scales of a kernel in the file; `None` if it was not rounded.

    The converter transposes and reshapes kernels, splits LSTM kernels by gates, cuts tables of
    positions to the length of the inputs, and multiplies kernels with the scales of a batch
    normalization. So scales may change, but integers do not.
    """
    entire = (moved for one in known for moved in _layouts(one, kernel))
    for codes in itertools.chain(entire, _first_rows(known, kernel)):
        for axis in range(kernel.ndim):
            if pays(kernel.shape, axis):
                found = scaled(kernel, codes, axis)
                if found is not None:
                    return axis, *found
    return None


def _found_with_factors(
    kernel: np.ndarray, known: Sequence[np.ndarray], readers: list[Any], factors: InputFactors
) -> Found | None:
    """As `_found`, for a kernel `(outputs, inputs)` that was multiplied for each input, too.

    The converter multiplies a kernel with what its inputs were multiplied with, such as the scales
    of a batch normalization or of a table, so that its numbers are multiples of no step. Such
    factors, 4 bytes each, get a `MUL` of their own again.
    """
    outputs, inputs = kernel.shape
    if 3 * kernel.size <= 12 * outputs + 4 * inputs + 2 * NODE_BYTES:
        return None
    for codes in (moved for one in known for moved in _layouts(one, kernel)):
        few = fitted(kernel[:FEW], codes[:FEW])
        if few is not None and _without(few, kernel[:FEW], codes[:FEW]) is None:
            continue  # of another kernel, as most are
        own = fitted(kernel, codes)
        if own is None or _without(own, kernel, codes) is None:
            continue
        shared = [one for one, _ in factors.known if one.shape == own.shape]
        for each in (*shared, own):
            found = _without(each, kernel, codes)
            if found is not None:
                factors.multiply(readers, each)
                return 0, *found
    return None


def _without(
    factors: np.ndarray, kernel: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Integers and scales of a kernel without its factors; an input with a factor of 0 has none."""
    unused = factors == 0
    return scaled(kernel / np.where(unused, 1, factors), np.where(unused, 0, codes), 0)


def _layouts(codes: np.ndarray, kernel: np.ndarray) -> Iterator[np.ndarray]:
    """Arranges the integers of a Keras kernel, or of its gates, in the shape of a file's kernel."""
    width, left = divmod(kernel.size * codes.shape[-1], codes.size)
    if left or not 0 < width <= codes.shape[-1]:
        return
    parts = [codes[..., :width], codes[..., -width:]]  # as two of the three gates of a GRU
    if codes.shape[-1] % width == 0:
        parts = np.split(codes, codes.shape[-1] // width, axis=-1)
    for part in parts:
        for order in itertools.permutations(range(part.ndim)):
            moved = part.transpose(order)
            # A reshape joins neighbouring axes, and adds or drops axes of size 1.
            if _follows(moved.shape, kernel.shape):
                yield moved.reshape(kernel.shape)


def _first_rows(known: Sequence[np.ndarray], kernel: np.ndarray) -> Iterator[np.ndarray]:
    """The first rows of each longer table, as many as a constant in the file has."""
    for codes in known:
        count, left = divmod(kernel.size, codes[0].size)
        if not left and count < len(codes) and _follows(codes[:count].shape, kernel.shape):
            yield codes[:count].reshape(kernel.shape)


def _follows(shape: Sequence[int], other: Sequence[int]) -> bool:
    """Whether one shape follows from the other by joining neighbouring axes.

    >>> _follows((24, 2, 12), (24, 24)), _follows((2, 3), (3, 2))
    (True, False)
    """
    ends = [
        {*itertools.accumulate((n for n in one if n > 1), operator.mul)} for one in (shape, other)
    ]
    return ends[0] <= ends[1] or ends[1] <= ends[0]


def scaled(
    kernel: np.ndarray, codes: np.ndarray, axis: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """The integers and their scales, if their product is the kernel; else `None`.

    >>> scaled(np.float32([[0.5, 6.0]]), np.int8([[1, 3]]), 1)
    (array([[1, 3]], dtype=int8), array([0.5, 2. ], dtype=float32))
    """
    columns, numbers = (
        np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis]) for array in (kernel, codes)
    )
    largest = np.argmax(np.abs(numbers.astype(np.int16)), axis=0)[None]
    step = np.take_along_axis(columns, largest, axis=0)[0]
    number = np.take_along_axis(numbers, largest, axis=0)[0]
    scale = np.where(number == 0, 1, step / np.where(number == 0, 1, number)).astype(np.float32)
    if not np.allclose(numbers * scale, columns, rtol=SAME, atol=0):
        return None
    # The scale that was multiplied is this float32 number or one of its two neighbours.
    choices = np.stack([scale, np.nextafter(scale, np.float32(np.inf)), np.nextafter(scale, 0)])
    wrong = np.stack([np.count_nonzero(numbers * one != columns, axis=0) for one in choices])
    scale = np.take_along_axis(choices, np.argmin(wrong, axis=0)[None], axis=0)[0]
    signs = np.where(scale < 0, -1, 1)  # a normalization may multiply with negative numbers
    along = signs.reshape([-1 if i == axis else 1 for i in range(kernel.ndim)])
    return (codes * along).astype(np.int8), np.abs(scale).astype(np.float32)


def multiplies(model: Any, operator: Any, index: int, *kinds: int) -> bool:
    """Whether an operator of some kinds has a tensor as its kernel."""
    return kind(model, operator) in kinds and operator.inputs[1] == index
