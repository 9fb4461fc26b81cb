"""Stores a float kernel of a file as int8, which the runtime turns into float32 once."""

from typing import Any, NamedTuple

import numpy as np

from kerascompact.core.quantize import quantize_columns
from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import OP, kind, new_buffer
from kerascompact.tflite.passes.kernels import dequantize_first, pays
from kerascompact.tools.float_constants import FloatConstant

OUTPUTS_FIRST = (
    OP.FULLY_CONNECTED, OP.CONV_2D, OP.TRANSPOSE_CONV, OP.UNIDIRECTIONAL_SEQUENCE_LSTM,
)  # fmt: skip


class StoredKernel(NamedTuple):
    """A kernel as integers.

    Args:
        now: How it is stored, for the report.
        after: Bytes of integers, scales and zero points.
        codes: int8, of the kernel's shape.
        scale: float32, one for each index of the axis.
        axis: Dimension of the scales.
    """

    now: str
    after: int
    codes: np.ndarray
    scale: np.ndarray
    axis: int

    @property
    def values(self) -> np.ndarray:
        """The numbers that the integers stand for."""
        shape = [-1 if axis == self.axis else 1 for axis in range(self.codes.ndim)]
        return self.codes * self.scale.reshape(shape)


def kernel_as_int8(model: Any, found: FloatConstant, slight: float) -> StoredKernel | str:
    """Rounds a kernel, with a scale for each output or, if these are fewer, each input.

    Args:
        model: `ModelT` of the schema.
        found: The kernel, from `float_constants`.
        slight: Bytes that it must save.

    Returns: The integers; or why the kernel stays.
    """
    values, use = found.values, found.uses[0]
    axis = _axis(model, use.kernels[0], use.tensor, values.ndim)
    if values.ndim == 2 and values.shape[axis] > values.shape[1 - axis]:
        axis = 1 - axis
    if not pays(values.shape, axis):
        return "int8 costs more"
    if 3 * values.size < slight:
        return "int8 saves next to nothing of the file"
    moved = np.moveaxis(values, axis, -1)
    rounded, scale = quantize_columns(moved.reshape(-1, moved.shape[-1]))
    codes = np.moveaxis(rounded.reshape(moved.shape), -1, axis)
    now = f"int8, a scale for each of {len(scale)} {'rows' if axis == 0 else 'columns'}"
    return StoredKernel(now, codes.size + 12 * len(scale), codes, scale, axis)


def _axis(model: Any, operator: Any, index: int, rank: int) -> int:
    """The dimension of a kernel's outputs."""
    which = kind(model, operator)
    if which == OP.BATCH_MATMUL:  # (inputs, outputs) as the second factor
        options = operator.builtinOptions or schema.BatchMatMulOptionsT()
        second = operator.inputs[1] == index
        swapped = bool(options.adjY if second else options.adjX)
        return rank - 1 if second != swapped else rank - 2
    return 0 if which in OUTPUTS_FIRST else rank - 1


def write_kernel(model: Any, graph: Any, index: int, stored: StoredKernel) -> None:
    """Makes a constant the result of a `DEQUANTIZE` of its integers.

    Args:
        model: `ModelT` of the schema, changed in place.
        graph: Subgraph of the constant.
        index: Index of its tensor, or of the result of the `DEQUANTIZE` of a float16 constant.
        stored: The integers.
    """
    unpacks = [one for one in graph.operators if index in one.outputs]
    graph.operators = [one for one in graph.operators if not any(one is u for u in unpacks)]
    buffer = new_buffer(model, stored.codes)
    dequantize_first(model, graph, index, buffer, stored.scale, stored.axis)
