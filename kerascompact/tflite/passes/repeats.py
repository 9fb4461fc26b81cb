"""Pass that stores the rows that repeat in a constant once, where operators broadcast them."""

from typing import Any

import numpy as np

from kerascompact.tflite.graph_edits import OP, TYPE, constant, dims_of, kind, new_buffer, users

BITS = {TYPE.FLOAT32: np.uint32, TYPE.INT32: np.uint32, TYPE.INT8: np.uint8}  # equal, also of NaN
BROADCAST = {OP.ADD, OP.SUB, OP.MUL}
MOST_AXES = 4  # that these operators broadcast in every runtime


def store_repeats_once(model: Any) -> None:
    """Makes constants 1 long along axes on which all numbers are equal, and operators broadcast.

    The converter computes what depends on no input: of segments that are all 0, the same row of a
    table for each word; of positions, the same rows for each example of a batch. Outputs stay equal
    to the last bit, since each is computed from the same numbers.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        for index, tensor in enumerate(graph.tensors):
            rank = 0 if tensor.shape is None else len(tensor.shape)
            if tensor.type not in BITS or model.buffers[tensor.buffer].data is None:
                continue
            for axis in range(-rank, -1) if rank <= MOST_AXES else ():
                size = int(tensor.shape[axis])
                found = _shortened(model, graph, index, axis, size) if size > 1 else None
                numbers = None if found is None else constant(model, tensor, BITS[tensor.type])
                if found is None or numbers is None:
                    continue
                first = numbers.take([0], axis)
                if np.array_equal(numbers, np.broadcast_to(first, numbers.shape)):
                    tensor.buffer = new_buffer(model, first)
                    for one in found:
                        _set_to_one(graph.tensors[one], axis)


def _shortened(model: Any, graph: Any, index: int, axis: int, size: int) -> list[int] | None:
    """The tensors that are 1 long along an axis if this one is, up to where one is broadcast.

    `None`, if an operator needs its length, or it is an output of the file.

    Args:
        model: Parsed model.
        graph: Subgraph of it.
        index: Index of the tensor.
        axis: The axis, counted from the last one, as broadcasting does.
        size: Length of the tensor along this axis.
    """
    scales = graph.tensors[index].quantization
    several = scales is not None and scales.scale is not None and len(scales.scale) > 1
    if several or index in graph.outputs:
        return None
    found = [index]
    for reader in users(graph, index):
        if kind(model, reader) in BROADCAST and len({*map(int, reader.inputs)}) == 2:
            (other,) = (int(one) for one in reader.inputs if one != index)
            dims = dims_of(graph.tensors[other])
            if len(dims) > MOST_AXES:
                return None
            if len(dims) >= -axis and dims[axis] == size:
                continue
        elif kind(model, reader) != OP.CAST:
            return None
        more = _shortened(model, graph, int(reader.outputs[0]), axis, size)
        if more is None:
            return None
        found += more
    return found


def _set_to_one(tensor: Any, axis: int) -> None:
    for name in ("shape", "shapeSignature"):
        sizes = getattr(tensor, name)
        if sizes is not None:
            sizes = np.array(sizes, np.int32)
            sizes[axis] = 1
            setattr(tensor, name, sizes)
