"""Pass that gives the zeros and ones of an int8 `ONE_HOT` the scale of its output."""

import copy
from typing import Any

import numpy as np

from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    constant,
    drop_unused,
    kind,
    new_buffer,
    new_tensor,
)


def share_scales(model: Any) -> None:
    """Rounds the two constants of each int8 `ONE_HOT` as its output is rounded.

    `q = round(x / scale) + zero`, of the output. The operator copies the integers of its constants,
    and the converter rounds each constant with a scale of its own: a zero is the integer 0 there,
    which is 0.5 with the output's scale of 1 / 255 and zero point of -128.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        for operator in graph.operators:
            if kind(model, operator) != OP.ONE_HOT:
                continue
            output = graph.tensors[operator.outputs[0]]
            if output.type != TYPE.INT8 or not _is_affine(output):
                continue  # of floats, or of int8 that stand for themselves
            inputs = operator.inputs.tolist()
            for place in (2, 3):  # ones and zeros
                own = graph.tensors[inputs[place]]
                integers = constant(model, own, np.int8)
                if integers is not None and _is_affine(own):
                    buffer = new_buffer(model, _rounded(_numbers(integers, own), output))
                    inputs[place] = new_tensor(graph, TYPE.INT8, integers.shape, buffer)
                    graph.tensors[inputs[place]].quantization = copy.deepcopy(output.quantization)
            if inputs != operator.inputs.tolist():
                operator.inputs = np.array(inputs, np.int32)
                drop_unused(graph)


def _numbers(integers: np.ndarray, tensor: Any) -> np.ndarray:
    """The numbers that a tensor's integers stand for."""
    scale, zero = _affine(tensor)
    return (integers.astype(np.float64) - zero) * scale


def _rounded(numbers: np.ndarray, tensor: Any) -> np.ndarray:
    """The integers that stand for numbers in a tensor."""
    scale, zero = _affine(tensor)
    return np.clip(np.round(numbers / scale) + zero, -128, 127).astype(np.int8)


def _is_affine(tensor: Any) -> bool:
    return tensor.quantization is not None and tensor.quantization.scale is not None


def _affine(tensor: Any) -> tuple[float, int]:
    return float(tensor.quantization.scale[0]), int(tensor.quantization.zeroPoint[0])
