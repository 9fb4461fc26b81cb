"""Pass that turns a gather of integer rows and their scales into one EMBEDDING_LOOKUP."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kerascompact.tflite.flatbuffer import schema
from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    affine,
    become,
    constant,
    drop_unused,
    kind,
    needs_runtime,
    new_buffer,
    new_tensor,
    users,
)

VERSION = 4  # of EMBEDDING_LOOKUP: four bits, and a scale for each row
RUNTIME = "2.18.0"  # the first with that version


class Rows(NamedTuple):
    """What a `RowScaledForm` holds: int8 `(V, d)`, scales `(V, 1)` or `(V, d / block)`."""

    table: np.ndarray
    scale: np.ndarray
    precision: str
    block: int | None


def store_rows(model: Any, tables: Sequence[Rows]) -> None:
    """Makes one `EMBEDDING_LOOKUP` of the operators that look up in a table of rows.

    In the converter's file these are `GATHER`, `CAST`, a `GATHER` of the scale and a `MUL`. What
    they are in place of: quantization of the table itself, by row, with float32 scales and int64
    zeros, as the format wants (12 bytes a row, where a `GATHER` needs 4); or by blocks, with
    float16 scales and no zeros, which no other operator of TFLite reads.

    Args:
        model: A parsed model, changed in place.
        tables: Those to be found in it. Other tables stay.
    """
    for graph in model.subgraphs:
        for rows in tables:
            found = [
                (gather, _last(model, graph, gather))
                for gather in graph.operators
                if kind(model, gather) == OP.GATHER and _is_of(model, graph, gather, rows)
            ]
            # If one of them is in another pattern, the table stays as it is, for all.
            if found and all(last is not None for _, last in found):
                index = _quantized(model, graph, rows)
                for gather, last in found:
                    _replace(model, graph, gather, last, index)
                needs_runtime(model, RUNTIME)
        drop_unused(graph)


def _is_of(model: Any, graph: Any, gather: Any, rows: Rows) -> bool:
    """Whether a `GATHER` reads that table."""
    table = graph.tensors[gather.inputs[0]]
    if table.type != TYPE.INT8 or tuple(table.shape) != rows.table.shape:
        return False
    data = constant(model, table, np.int8)
    return data is not None and np.array_equal(data, rows.table)


def _last(model: Any, graph: Any, gather: Any) -> Any:
    """The `MUL` of the rows that a `GATHER` begins to read with their scales, or `None`."""
    after = _follow(model, graph, gather, [OP.CAST])
    if after is None:
        return None
    by_row = _follow(model, graph, after, [OP.MUL])
    return by_row or _follow(model, graph, after, [OP.RESHAPE, OP.MUL])


def _replace(model: Any, graph: Any, gather: Any, last: Any, table: int) -> None:
    """Puts one operator in the place of those from `gather` to `last`."""
    node = schema.OperatorT()
    node.inputs = np.array([gather.inputs[1], table], np.int32)
    place = next(i for i, operator in enumerate(graph.operators) if operator is last)
    graph.operators.insert(place, node)
    become(model, node, OP.EMBEDDING_LOOKUP, VERSION)
    if len(graph.tensors[last.outputs[0]].shape) == 2:
        node.outputs = last.outputs
        graph.operators.remove(last)
        return
    # Blocks `(n, width / block, block)`: whatever reads them may need that shape.
    ids, width = graph.tensors[gather.inputs[1]], graph.tensors[table].shape[1]
    made = new_tensor(graph, TYPE.FLOAT32, [ids.shape[0], width], 0)
    if ids.shapeSignature is not None:
        graph.tensors[made].shapeSignature = np.array([ids.shapeSignature[0], width], np.int32)
    node.outputs = np.array([made], np.int32)
    for reader in users(graph, last.outputs[0]):
        if kind(model, reader) == OP.RESHAPE:
            reader.inputs = np.array([made, *reader.inputs[1:]], np.int32)
    into_blocks = next(o for o in graph.operators if last.inputs[0] in o.outputs)
    options = into_blocks.builtinOptionsType, into_blocks.builtinOptions
    last.inputs = np.array([made, *into_blocks.inputs[1:]], np.int32)
    become(model, last, OP.RESHAPE, 1, *options)


def _follow(model: Any, graph: Any, operator: Any, kinds: list[int]) -> Any:
    """The last of operators of those kinds, each the only one that reads the one before."""
    for wanted in kinds:
        readers = users(graph, operator.outputs[0])
        if len(readers) != 1 or kind(model, readers[0]) != wanted:
            return None
        operator = readers[0]
    return operator


def _quantized(model: Any, graph: Any, rows: Rows) -> int:
    """The table as a tensor with its scales."""
    codes, type_ = rows.table, TYPE.INT8
    if rows.precision == "int4":
        nibbles = codes.reshape(-1).view(np.uint8) & 15
        codes, type_ = nibbles[::2] | nibbles[1::2] << 4, TYPE.INT4
    index = new_tensor(graph, type_, rows.table.shape, new_buffer(model, codes))
    if rows.block is None:
        graph.tensors[index].quantization = affine(rows.scale.reshape(-1))
        return index
    buffer = new_buffer(model, rows.scale.astype(np.float16))
    scales = new_tensor(graph, TYPE.FLOAT16, rows.scale.shape, buffer)
    details, made = schema.BlockwiseQuantizationT(), schema.QuantizationParametersT()
    details.scales, details.zeroPoints, details.blockSize = scales, -1, rows.block
    made.details, made.detailsType = details, schema.QuantizationDetails.BlockwiseQuantization
    graph.tensors[index].quantization = made
    return index
