"""Pass over a file of words in slots: what is left out of a mean takes no operators."""

from typing import Any

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    become,
    constant,
    dims_of,
    drop_unused,
    kind,
    new_buffer,
    users,
)

_DTYPES = {TYPE.INT32: np.int32, TYPE.INT8: np.int8, TYPE.INT16: np.int16, TYPE.UINT8: np.uint8}
_KEEPS_ZERO = (OP.CAST, OP.DEQUANTIZE)


def leave_out(model: Any) -> None:
    """Removes operators that only tell unknown words and padding from known words.

    Where unknown words become padding, `where(id < 2, 0, id)`, the lookup of slots gives 0 to
    both in the first place. Where vectors are multiplied by 0 for padding, the row of padding in
    the table becomes zeros, and vectors are not multiplied. Where ids are not 0 is asked of the ids
    themselves.

    Args:
        model: `ModelT` of the schema, changed in place.
    """
    for graph in model.subgraphs:
        makers = {int(index): one for one in graph.operators for index in one.outputs}
        for operator in list(graph.operators):
            if kind(model, operator) == OP.SELECT_V2:
                _skip_unknown(model, graph, makers, operator)
            elif kind(model, operator) == OP.MUL:
                _zero_padding(model, graph, makers, operator)
            elif kind(model, operator) == OP.WHERE:
                _where_ids(model, graph, makers, operator)
        drop_unused(graph)


def _skip_unknown(model: Any, graph: Any, makers: dict[int, Any], operator: Any) -> None:
    """`where(id < 2, 0, where(h == 0, 0, max(where(found, id, 1))))` -> `max(where(found, id, 0))`.

    The hash 0 of no word must not be found: its slot is the first, whose tag must not be 0.
    """
    condition, zero, ids = map(int, operator.inputs)
    less = _made(model, makers, condition, OP.LESS)
    inner = _made(model, makers, ids, OP.SELECT_V2)
    if less is None or inner is None:
        return
    same = int(less.inputs[0]) == ids and _readers(graph, ids) == 2
    empty, also_zero, largest = map(int, inner.inputs)
    equal = _made(model, makers, empty, OP.EQUAL)
    reduced = _made(model, makers, largest, OP.REDUCE_MAX)
    if not same or equal is None or reduced is None or _readers(graph, largest) != 1:
        return
    chosen = _made(model, makers, int(reduced.inputs[0]), OP.SELECT_V2)
    if chosen is None:
        return
    numbers = [(less.inputs[1], 2), (zero, 0), (also_zero, 0)]
    numbers += [(equal.inputs[1], 0), (chosen.inputs[2], 1)]
    if any(not _is_number(model, graph, int(index), number) for index, number in numbers):
        return
    if not any(_tags(model, graph, makers, int(chosen.inputs[0]))):
        return
    chosen.inputs = np.array([*chosen.inputs[:2], zero], np.int32)
    _replace(graph, int(operator.outputs[0]), largest)


def _tags(model: Any, graph: Any, makers: dict[int, Any], index: int) -> list[int]:
    """The first tag in each table that a condition compares with."""
    maker = makers.get(index)
    found: list[int] = []
    if maker is None:
        return found
    if kind(model, maker) == OP.GATHER:
        table = graph.tensors[int(maker.inputs[0])]
        numbers = constant(model, table, _DTYPES[table.type]) if table.type in _DTYPES else None
        return found if numbers is None else [int(numbers[0])]
    if kind(model, maker) in (OP.LOGICAL_AND, OP.EQUAL, OP.CAST):
        for one in maker.inputs:
            found += _tags(model, graph, makers, int(one))
    return found


def _zero_padding(model: Any, graph: Any, makers: dict[int, Any], operator: Any) -> None:
    """`table[ids] * (ids != 0)` -> `table[ids]` with a first row of zeros."""
    vectors, mask = map(int, operator.inputs)
    if _activation(operator):  # it would go with the product
        return
    ids = _masked(model, graph, makers, mask)
    source = vectors
    while ids is not None and (maker := makers.get(source)) is not None:
        name = kind(model, maker)
        if _readers(graph, source) > 1:  # others may see the row of padding
            return
        if name == OP.GATHER:
            if int(maker.inputs[1]) == ids and _zero_first_row(model, graph, maker):
                _replace(graph, int(operator.outputs[0]), vectors)
            return
        by_constant = name == OP.MUL and not _activation(maker) and _is_finite(model, graph, maker)
        if name not in _KEEPS_ZERO and not by_constant:
            return
        source = int(maker.inputs[0])


def _masked(model: Any, graph: Any, makers: dict[int, Any], index: int) -> int | None:
    """The ids of which a tensor `(..., 1)` says, as numbers, where they are not 0."""
    shape = dims_of(graph.tensors[index])
    for _ in range(2):
        changed = makers.get(index)
        if changed is None or kind(model, changed) not in (OP.CAST, OP.RESHAPE):
            return None
        index = int(changed.inputs[0])
    different = _made(model, makers, index, OP.NOT_EQUAL)
    if different is None or not _is_number(model, graph, int(different.inputs[1]), 0):
        return None
    ids = int(different.inputs[0])
    return ids if shape == [*dims_of(graph.tensors[ids]), 1] else None


def _where_ids(model: Any, graph: Any, makers: dict[int, Any], operator: Any) -> None:
    """`where(ids != 0)` -> `where(ids)`."""
    different = _made(model, makers, int(operator.inputs[0]), OP.NOT_EQUAL)
    if different is None or not _is_number(model, graph, int(different.inputs[1]), 0):
        return
    ids, zero = (graph.tensors[int(index)] for index in different.inputs)
    if len(zero.shape) <= len(ids.shape):
        operator.inputs = np.array([different.inputs[0]], np.int32)
        become(model, operator, OP.WHERE, 2)


def _zero_first_row(model: Any, graph: Any, gather: Any) -> bool:
    """Stores zeros in the first row of a table that only this operator reads."""
    index = int(gather.inputs[0])
    tensor = graph.tensors[index]
    data = model.buffers[tensor.buffer].data
    every = (one for any_graph in model.subgraphs for one in any_graph.tensors)
    sharing = [one for one in every if one.buffer == tensor.buffer]
    if data is None or len(sharing) > 1 or _readers(graph, index) > 1 or len(tensor.shape) != 2:
        return False
    if vars(gather.builtinOptions or schema.GatherOptionsT()) != vars(schema.GatherOptionsT()):
        return False
    points = None if tensor.quantization is None else tensor.quantization.zeroPoint
    if points is not None and np.any(points):
        return False
    bits = {TYPE.FLOAT32: 32, TYPE.INT8: 8, TYPE.INT4: 4}.get(tensor.type)
    if bits is None:
        return False
    kept = np.array(data, np.uint8)
    kept[: int(tensor.shape[1]) * bits // 8] = 0  # rows of four bits are of whole bytes
    tensor.buffer = new_buffer(model, kept)
    return True


def _is_finite(model: Any, graph: Any, operator: Any) -> bool:
    tensor = graph.tensors[int(operator.inputs[1])]
    numbers = constant(model, tensor, np.float32) if tensor.type == TYPE.FLOAT32 else None
    return numbers is not None and bool(np.isfinite(numbers).all())


def _activation(operator: Any) -> int:
    return getattr(operator.builtinOptions, "fusedActivationFunction", 0)


def _made(model: Any, makers: dict[int, Any], index: int, wanted: int) -> Any:
    """The operator that writes a tensor, if it is of the wanted kind; else `None`."""
    operator = makers.get(index)
    return operator if operator is not None and kind(model, operator) == wanted else None


def _is_number(model: Any, graph: Any, index: int, number: int) -> bool:
    tensor = graph.tensors[index]
    found = constant(model, tensor, np.int32) if tensor.type == TYPE.INT32 else None
    return found is not None and found.size == 1 and int(found.reshape(-1)[0]) == number


def _readers(graph: Any, index: int) -> int:
    """How many operators and outputs of a graph read a tensor."""
    return len(users(graph, index)) + [int(one) for one in graph.outputs].count(index)


def _replace(graph: Any, old: int, new: int) -> None:
    """Lets all readers of a tensor read another one; an output of the file keeps its tensor."""
    for operator in users(graph, old):
        operator.inputs = np.array([new if int(i) == old else int(i) for i in operator.inputs])
        operator.inputs = operator.inputs.astype(np.int32)
