"""Pass that replaces a gather of integer rows and of their scales by one EMBEDDING_LOOKUP."""

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
    new_buffer,
    new_tensor,
    users,
)

VERSION = 4  # the version of EMBEDDING_LOOKUP that reads int4 and has a scale for each row


class RowScaledTable(NamedTuple):
    """Arrays of a `RowScaledForm`: int8 `(V, d)` and scales `(V, 1)` or `(V, d / block)`."""

    table: np.ndarray
    scale: np.ndarray
    precision: str
    block: int | None


def use_embedding_lookup(model: Any, tables: Sequence[RowScaledTable]) -> None:
    """Replaces the operators that look up rows of these tables by one `EMBEDDING_LOOKUP` each.

    The converter writes a `GATHER`, a `CAST`, a `GATHER` of the scale and a `MUL`. Here the table
    itself becomes quantized: by row, with float32 scales and int64 zero points as the format
    requires (12 bytes a row, where a `GATHER` of the scale needs 4); or by block, with float16
    scales and no zero points, which only `EMBEDDING_LOOKUP` can read.

    Args:
        model: Parsed model, changed in place.
        tables: Tables to look for; all others stay as they are.
    """
    for graph in model.subgraphs:
        for known in tables:
            found = [
                (gather, _last(model, graph, gather))
                for gather in graph.operators
                if kind(model, gather) == OP.GATHER and _reads(model, graph, gather, known)
            ]
            found = [one for one in found if not _has_other_scales(model, graph, one[1], known)]
            # If one lookup has another pattern, the table stays as it is for all lookups.
            if found and all(last is not None for _, last in found):
                index = _quantized(model, graph, known)
                for gather, last in found:
                    _replace(model, graph, gather, last, index)
        drop_unused(graph)


def _reads(model: Any, graph: Any, gather: Any, known: RowScaledTable) -> bool:
    """Whether a `GATHER` reads this table."""
    table = graph.tensors[gather.inputs[0]]
    if table.type != TYPE.INT8 or tuple(table.shape) != known.table.shape:
        return False
    data = constant(model, table, np.int8)
    return data is not None and np.array_equal(data, known.table)


def _last(model: Any, graph: Any, gather: Any) -> Any:
    """The `MUL` with the scales that ends the lookup which a `GATHER` begins, or `None`."""
    after = _follow(model, graph, gather, [OP.CAST])
    if after is None:
        return None
    by_row = _follow(model, graph, after, [OP.MUL])
    return by_row or _follow(model, graph, after, [OP.RESHAPE, OP.MUL])


def _has_other_scales(model: Any, graph: Any, last: Any, known: RowScaledTable) -> bool:
    """Whether a lookup's scales are those of another table that has the same integers."""
    if last is None:
        return False
    scales = _constant_of(model, graph, int(last.inputs[1]))
    return scales is None or not np.array_equal(scales.reshape(-1), known.scale.reshape(-1))


def _constant_of(model: Any, graph: Any, index: int) -> np.ndarray | None:
    """The numbers from which a tensor is gathered, reshaped on the way or not."""
    makers = [one for one in graph.operators if index in one.outputs]
    while makers and kind(model, makers[0]) in (OP.RESHAPE, OP.EXPAND_DIMS):
        index = int(makers[0].inputs[0])
        makers = [one for one in graph.operators if index in one.outputs]
    if not makers or kind(model, makers[0]) != OP.GATHER:
        return None
    return constant(model, graph.tensors[int(makers[0].inputs[0])], np.float32)


def _replace(model: Any, graph: Any, gather: Any, last: Any, table: int) -> None:
    """Replaces the operators from `gather` to `last` by one `EMBEDDING_LOOKUP`."""
    node = schema.OperatorT()
    node.inputs = np.array([gather.inputs[1], table], np.int32)
    place = next(i for i, operator in enumerate(graph.operators) if operator is last)
    graph.operators.insert(place, node)
    become(model, node, OP.EMBEDDING_LOOKUP, VERSION)
    if len(graph.tensors[last.outputs[0]].shape) == 2:
        node.outputs = last.outputs
        graph.operators.remove(last)
        return
    # Blocks `(n, width / block, block)`: the operators that read them may need that shape.
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
    """The last of a chain of operators of these kinds, each the only reader of the one before."""
    for wanted in kinds:
        readers = users(graph, operator.outputs[0])
        if len(readers) != 1 or kind(model, readers[0]) != wanted:
            return None
        operator = readers[0]
    return operator


def _quantized(model: Any, graph: Any, known: RowScaledTable) -> int:
    """Adds the table as a quantized tensor with its scales and returns its index."""
    codes, type_ = known.table, TYPE.INT8
    if known.precision == "int4":
        nibbles = codes.reshape(-1).view(np.uint8) & 15
        codes, type_ = nibbles[::2] | nibbles[1::2] << 4, TYPE.INT4
    index = new_tensor(graph, type_, known.table.shape, new_buffer(model, codes))
    if known.block is None:
        graph.tensors[index].quantization = affine(known.scale.reshape(-1))
        return index
    buffer = new_buffer(model, known.scale.astype(np.float16))
    scales = new_tensor(graph, TYPE.FLOAT16, known.scale.shape, buffer)
    details, made = schema.BlockwiseQuantizationT(), schema.QuantizationParametersT()
    details.scales, details.zeroPoints, details.blockSize = scales, -1, known.block
    made.details, made.detailsType = details, schema.QuantizationDetails.BlockwiseQuantization
    graph.tensors[index].quantization = made
    return index
