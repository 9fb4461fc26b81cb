"""Pass that stores the tables of layers that the package does not know as int8."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    become,
    constant,
    dims_of,
    kind,
    new_buffer,
    new_tensor,
    users,
)
from kerascompact.tflite.passes import kernels


def store_tables_as_int8(model: Any, known: Sequence[np.ndarray]) -> None:
    """Stores every rounded table that rows are read from as int8: its rows become float32 alone.

    A table of a layer of one's own, such as a subclass of `keras.layers.Embedding` with another
    `call`, is rounded as kernels are. `GATHER` reads rows of integers, `CAST` and a `MUL` with the
    scales make the same float32 numbers of them.

    Args:
        model: Parsed model, changed in place.
        known: Integers of the rounded kernels, int8, in the shapes that Keras gives them.
    """
    for graph in model.subgraphs:
        for index in range(len(graph.tensors)):
            _store(model, graph, index, known)


def _store(model: Any, graph: Any, index: int, known: Sequence[np.ndarray]) -> None:
    tensor, readers = graph.tensors[index], users(graph, index)
    table = constant(model, tensor, np.float32) if tensor.type == TYPE.FLOAT32 else None
    if table is None or table.ndim < 2 or index in graph.outputs or not readers:
        return
    if not all(_reads_rows(model, graph, one, index) for one in readers):
        return
    tried = (
        kernels.scaled(table, one, table.ndim - 1) for one in known if one.shape == table.shape
    )
    found = next((one for one in tried if one is not None), None)
    if found is None:
        return
    codes, steps = found
    scales = new_tensor(graph, TYPE.FLOAT32, steps.shape, new_buffer(model, steps))
    tensor.type, tensor.buffer = TYPE.INT8, new_buffer(model, codes)
    for reader in readers:
        _scale_rows(model, graph, reader, scales)


def _reads_rows(model: Any, graph: Any, one: Any, table: int) -> bool:
    """Whether an operator takes entire rows of a table."""
    which = kind(model, one)
    if which not in (OP.GATHER, OP.SLICE) or one.inputs[0] != table:
        return False
    if which == OP.SLICE:
        found, given = (dims_of(graph.tensors[int(i)]) for i in (one.outputs[0], table))
        return found[1:] == given[1:]
    options = one.builtinOptions or schema.GatherOptionsT()
    return options.axis == 0 and options.batchDims == 0


def _scale_rows(model: Any, graph: Any, reader: Any, scales: int) -> None:
    rows = int(reader.outputs[0])
    found = [
        new_tensor(graph, one, graph.tensors[rows].shape, 0) for one in (TYPE.INT8, TYPE.FLOAT32)
    ]
    for one in found:
        graph.tensors[one].shapeSignature = graph.tensors[rows].shapeSignature
    codes, floats = found
    options = reader.builtinOptionsType, reader.builtinOptions
    become(model, reader, kind(model, reader), 2, *options)  # both take int8 from version 2
    reader.outputs = np.array([codes], np.int32)
    cast, product = schema.OperatorT(), schema.OperatorT()
    cast.inputs, cast.outputs = np.array([codes], np.int32), np.array([floats], np.int32)
    become(model, cast, OP.CAST, 3)
    product.inputs, product.outputs = (
        np.array([floats, scales], np.int32),
        np.array([rows], np.int32),
    )
    become(model, product, OP.MUL, 1, schema.BuiltinOptions.MulOptions, schema.MulOptionsT())
    place = next(at for at, one in enumerate(graph.operators) if one is reader) + 1
    graph.operators[place:place] = [cast, product]
