"""Reads and writes the TFLite flatbuffer itself: checks, metadata, names. Needs no TensorFlow."""

import json
import struct
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from kerascompact.core import checks

IDENTIFIER = b"TFL3"
METADATA_NAME = b"kerascompact"


def load(file: bytes | str | Path) -> bytes:
    """The bytes of a `.tflite` file, checked to be a whole one.

    Args:
        file: A path, or the bytes themselves.

    Raises: ValueError, if it is no TFLite file or is truncated; FileNotFoundError.
    """
    data = file if isinstance(file, bytes) else Path(file).read_bytes()
    parse(data)
    return data


def parse(data: bytes) -> Any:
    """Unpacks a flatbuffer into the schema's `ModelT`, after checking that it is whole.

    Raises: ValueError, if it is no TFLite file, is truncated or is damaged.
    """
    if not isinstance(data, bytes):
        checks.fail("flatbuffer", "the bytes of a .tflite file", data)
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        start = data[:8]
        raise ValueError(
            "`flatbuffer` must be a TFLite model, with the identifier 'TFL3' at byte 4. "
            f"Received: {len(data)} bytes that start with {start!r}."
        )
    try:
        model = schema.ModelT.InitFromPackedBuf(data, 0)
        _check_whole(model, len(data))
    except (struct.error, IndexError, TypeError, ValueError, AttributeError, MemoryError) as error:
        raise ValueError(
            f"`flatbuffer` must be a whole TFLite model. Received: {len(data)} bytes that are "
            f"truncated or damaged ({error})."
        ) from error
    return model


def _check_whole(model: Any, size: int) -> None:
    """Every constant must have as many bytes as its tensor's shape and type say, and every number
    of a tensor, a buffer or an operator must be one that there is."""
    for entry in model.metadata or []:
        if not 0 <= entry.buffer < len(model.buffers) or model.buffers[entry.buffer].data is None:
            raise ValueError("metadata without content")
    for graph in model.subgraphs:
        ports = [*graph.inputs, *graph.outputs]
        if ports and not 0 <= min(ports) <= max(ports) < len(graph.tensors):
            raise ValueError("an input or output that is no tensor")
        for tensor in graph.tensors:
            if tensor.type not in TYPE_NAMES:
                raise ValueError(f"a tensor of the unknown type {tensor.type}")
            buffer = model.buffers[tensor.buffer]
            if buffer.data is None or tensor.shape is None or tensor.type not in ITEM_BITS:
                continue
            expected = -(-int(np.prod(tensor.shape, dtype=np.int64)) * ITEM_BITS[tensor.type] // 8)
            if len(buffer.data) != expected:
                raise ValueError(f"a tensor has {len(buffer.data)} of {expected} bytes")
        for operator in graph.operators:
            if not 0 <= operator.opcodeIndex < len(model.operatorCodes):
                raise ValueError("an operator has no code")


class _Builder(flatbuffers.Builder):
    """Writes short vectors that hold the same (shapes, indices) once."""

    def __init__(self) -> None:
        super().__init__(1024)
        self.written: dict[tuple[str, bytes], int] = {}

    def CreateNumpyVector(self, x: np.ndarray) -> int:
        if x.nbytes > 64:
            return super().CreateNumpyVector(x)
        key = (x.dtype.str, x.tobytes())
        if key not in self.written:
            self.written[key] = super().CreateNumpyVector(x)
        return self.written[key]


class _Once:
    """A table that is written once, however often it is referred to."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.offset: int | None = None

    def Pack(self, builder: flatbuffers.Builder) -> int:
        if self.offset is None:
            self.offset = self.table.Pack(builder)
        return self.offset


def _share_equal(tables: list[Any], written: dict[str, _Once]) -> list[_Once]:
    """Replaces tables that hold the same by one; FlatBuffers lets several offsets meet there."""
    tables = [table.table if isinstance(table, _Once) else table for table in tables]
    return [written.setdefault(_contents(table), _Once(table)) for table in tables]


def _contents(table: Any) -> str:
    """Class and fields of a table, nested tables included."""
    if isinstance(table, np.ndarray):
        return repr(table.tolist())
    if isinstance(table, list | tuple):
        return repr([_contents(entry) for entry in table])
    if hasattr(table, "__dict__"):
        fields = sorted(vars(table).items())
        return type(table).__name__ + repr([(name, _contents(field)) for name, field in fields])
    return repr(table)


def pack(model: Any) -> bytes:
    """Packs a `ModelT` into the bytes of a file.

    Equal tensors (activations of one shape and type), equal options of operators and equal short
    vectors are written once, which saves a third of a small graph.
    """
    builder = _Builder()
    written: dict[str, _Once] = {}
    for graph in model.subgraphs:
        graph.tensors = _share_equal(graph.tensors, written)
        for operator in graph.operators:
            if operator.builtinOptions is not None:
                (operator.builtinOptions,) = _share_equal([operator.builtinOptions], written)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return bytes(builder.Output())


def read_metadata(file: bytes | str | Path) -> dict[str, Any]:
    """The JSON that kerascompact wrote into a file: labels, vocabulary hash, sizes, recipe.

    Raises: ValueError, if the file is no TFLite file or was not made by kerascompact.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> read_metadata(kerascompact.export.convert(model))["embeddings"][0]["form"]
    'CodebookForm'
    """
    metadata = metadata_of(parse(file if isinstance(file, bytes) else Path(file).read_bytes()))
    if metadata is None:
        raise ValueError(
            "The file must be one that kerascompact exported. "
            "Received: a TFLite model without kerascompact's metadata."
        )
    return metadata


def metadata_of(model: Any) -> dict[str, Any] | None:
    """The metadata of a parsed model, or `None` in a file of another maker."""
    for entry in model.metadata or []:
        if entry.name == METADATA_NAME:
            return json.loads(bytes(bytearray(model.buffers[entry.buffer].data)))
    return None


def add_metadata(model: Any, metadata: dict[str, Any]) -> None:
    """Writes the JSON into a parsed model, as compact as JSON gets."""
    text = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    buffer, entry = schema.BufferT(), schema.MetadataT()
    buffer.data = np.frombuffer(text.encode("utf-8"), np.uint8)
    entry.name, entry.buffer = METADATA_NAME, len(model.buffers)
    model.buffers.append(buffer)
    model.metadata = [*(model.metadata or []), entry]


def slim(model: Any) -> None:
    """Drops what the converter writes and no runtime reads.

    Names of inner tensors (inputs and outputs keep theirs), an empty buffer for each activation
    (all can share buffer 0, which is empty by definition), equal constants stored twice, shape
    signatures that repeat the shape, ranks that the shape tells, and empty quantization tables.
    """
    empty = schema.BufferT()
    buffers, number = [empty], {b"": 0}
    for position, graph in enumerate(model.subgraphs):
        graph.name = graph.name if position == 0 else None
        ports = {*graph.inputs, *graph.outputs} if position == 0 else set()
        for index, tensor in enumerate(graph.tensors):
            data = model.buffers[tensor.buffer].data
            data = b"" if data is None else bytes(bytearray(data))
            if data not in number:
                number[data] = len(buffers)
                buffers.append(model.buffers[tensor.buffer])
            tensor.buffer = number[data]
            if index not in ports:
                tensor.name = None
            if tensor.quantization is not None and tensor.quantization.scale is None:
                tensor.quantization = None
            tensor.hasRank = False  # read by importers, which take the rank from the shape then
            if tensor.shapeSignature is not None and -1 not in tensor.shapeSignature:
                tensor.shapeSignature = None
    for signature in model.signatureDefs or []:
        graph = model.subgraphs[signature.subgraphIndex]
        for port in (*signature.inputs, *signature.outputs):
            graph.tensors[port.tensorIndex].name = port.name  # not "serving_default_ids:0"
    for entry in model.metadata or []:
        buffers.append(model.buffers[entry.buffer])
        entry.buffer = len(buffers) - 1
    model.buffers, model.description = buffers, None


def operator_names(model: Any) -> list[str]:
    """The operator of every node of every subgraph; a custom one by its own name."""
    builtin = {
        value: name for name, value in vars(schema.BuiltinOperator).items() if name[0] != "_"
    }
    names = []
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            number = max(code.builtinCode, code.deprecatedBuiltinCode)
            custom = code.customCode
            names.append(
                f"CUSTOM:{custom.decode()}" if custom else builtin.get(number, str(number))
            )
    return names


def _types() -> dict[int, str]:
    return {value: name for name, value in vars(schema.TensorType).items() if name[0] != "_"}


TYPE_NAMES = _types()
ITEM_BITS = {
    getattr(schema.TensorType, name): bits
    for name, bits in {
        "FLOAT32": 32, "FLOAT16": 16, "FLOAT64": 64, "INT8": 8, "UINT8": 8, "INT16": 16,
        "UINT16": 16, "INT32": 32, "UINT32": 32, "INT64": 64, "UINT64": 64, "BOOL": 8, "INT4": 4,
    }.items()
}  # fmt: skip
