"""Pass that gives each tensor and each bias numbers of its own, to be rounded once each."""

import copy
from typing import Any

from kerascompact.tflite.graph_edits import OP, kind, new_buffer

# Place of the bias among an operator's inputs.
BIASES = {OP.FULLY_CONNECTED: 2, OP.CONV_2D: 2, OP.DEPTHWISE_CONV_2D: 2, OP.TRANSPOSE_CONV: 3}


def give_own_constants(model: Any) -> None:
    """Copies shared constants for a quantizer that rounds in place.

    The quantizer of TensorFlow's converter for int16 rounds the numbers of each tensor where they
    lie: a buffer of two tensors, as of a layer in two signatures, would be rounded twice. And it
    rounds a bias once, at the scales of the first operator that reads it, though a layer that is
    called twice may have inputs of two scales. `flatbuffer.slim` stores what is equal again once.

    Args:
        model: Parsed model of floats, changed in place.
    """
    owned: set[int] = set()
    for graph in model.subgraphs:
        read: set[int] = set()
        for operator in graph.operators:
            place = BIASES.get(kind(model, operator), len(operator.inputs))
            for index in map(int, operator.inputs[place : place + 1]):
                if index in read and _numbers(model, graph.tensors[index]) is not None:
                    tensor = copy.copy(graph.tensors[index])
                    tensor.name = b"%s %d" % (tensor.name or b"", len(graph.tensors))
                    operator.inputs = [*operator.inputs]
                    operator.inputs[place] = len(graph.tensors)
                    graph.tensors.append(tensor)
                read.add(index)
        for tensor in graph.tensors:
            numbers = _numbers(model, tensor)
            if numbers is not None and tensor.buffer in owned:
                tensor.buffer = new_buffer(model, numbers)
            owned.add(tensor.buffer)


def _numbers(model: Any, tensor: Any) -> Any:
    """Bytes of a constant; `None` for what an operator writes."""
    data = model.buffers[tensor.buffer].data
    return data if data is not None and len(data) else None
