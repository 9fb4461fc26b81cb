"""Reader and writer of `.tflite` files: parsing, checks, metadata, names."""

import json
import struct
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np

from kerascompact.core import checks
from kerascompact.tflite import checksum
from kerascompact.tflite.layout import ITEM_BITS, TYPE_NAMES, check_layout, schema
from kerascompact.tflite.metadata_schema import metadata_fits
from kerascompact.tflite.operators import OPERATORS
from kerascompact.tflite.validate import check_model

__all__ = [
    "IDENTIFIER", "ITEM_BITS", "METADATA_NAME", "TYPE_NAMES", "add_metadata", "load", "metadata_of",
    "operator_names", "pack", "parse", "read", "read_metadata", "schema", "slim",
]  # fmt: skip

IDENTIFIER = b"TFL3"
METADATA_NAME = b"kerascompact"
_DAMAGE = (
    struct.error, IndexError, TypeError, ValueError, AttributeError, MemoryError, RecursionError,
)  # fmt: skip


def load(file: bytes | str | Path) -> bytes:
    """The bytes of a `.tflite` file, checked to be a whole one.

    Args:
        file: A path, or the bytes themselves.

    Raises: ValueError, as `read`; FileNotFoundError.
    """
    return read(file)[0]


def read(file: bytes | str | Path) -> tuple[bytes, Any]:
    """The bytes of a `.tflite` file and its `ModelT`, checked to be as they were written.

    A file of kerascompact has a CRC-32 of all its bytes in its metadata, which tells of every
    damage; of other files the structure is checked, see `parse`.

    Args:
        file: A path, or the bytes themselves.

    Raises: ValueError, if it is no TFLite file, is truncated, damaged or changed;
        FileNotFoundError.
    """
    data = file if isinstance(file, bytes) else Path(file).read_bytes()
    _check_is_tflite(data)
    if METADATA_NAME in data and (wrong := checksum.broken(data)):
        raise ValueError(
            f"`flatbuffer` must be a whole TFLite model. Received: {len(data)} bytes that are "
            f"truncated or damaged, or were changed since kerascompact wrote them ({wrong})."
        )
    return data, parse(data)


def parse(data: bytes) -> Any:
    """Unpacks a flatbuffer into the schema's `ModelT`, after checking its structure.

    Every offset must lead where the schema says (`check_layout`), and every tensor, operator and
    signature must be one that the runtime can take (`check_model`).

    Raises: ValueError, if it is no TFLite file, is truncated or is damaged.
    """
    _check_is_tflite(data)
    try:
        check_layout(data)
        model = schema.ModelT.InitFromPackedBuf(data, 0)
        check_model(model, len(data))
        for graph in model.subgraphs:
            _fill(graph, "tensors", "inputs", "outputs", "operators")
            for operator in graph.operators:
                _fill(operator, "inputs", "outputs")
        for signature in model.signatureDefs or []:
            _fill(signature, "inputs", "outputs")
    except _DAMAGE as error:
        raise ValueError(
            f"`flatbuffer` must be a whole TFLite model. Received: {len(data)} bytes that are "
            f"truncated or damaged ({error})."
        ) from error
    return model


def _fill(table: Any, *names: str) -> None:
    """Gives vectors that the file left out as vectors of nothing."""
    for name in names:
        if getattr(table, name) is None:
            setattr(table, name, [])


def _check_is_tflite(data: bytes) -> None:
    if not isinstance(data, bytes):
        checks.fail("flatbuffer", "the bytes of a .tflite file", data)
    if len(data) < 8 or data[4:8] != IDENTIFIER:
        start = data[:8]
        raise ValueError(
            "`flatbuffer` must be a TFLite model, with the identifier 'TFL3' at byte 4. "
            f"Received: {len(data)} bytes that start with {start!r}."
        )


class _Builder(flatbuffers.Builder):
    """Writes vectors that hold the same once: short ones (shapes, indices), and zeros of scales."""

    def __init__(self) -> None:
        super().__init__(1024)
        self.written: dict[tuple[str, bytes], int] = {}

    def CreateNumpyVector(self, x: np.ndarray) -> int:
        if x.nbytes > 64 and (x.dtype != np.int64 or x.any()):
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
    vectors are written once, which saves a third of a small graph. With kerascompact's metadata,
    a checksum of the file is in them, see `seal`.
    """
    builder = _Builder()
    written: dict[str, _Once] = {}
    for graph in model.subgraphs:
        graph.tensors = _share_equal(graph.tensors, written)
        for operator in graph.operators:
            if operator.builtinOptions is not None:
                (operator.builtinOptions,) = _share_equal([operator.builtinOptions], written)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return checksum.sealed(bytes(builder.Output()))


def read_metadata(file: bytes | str | Path) -> dict[str, Any]:
    """The JSON that kerascompact wrote into a file: labels, vocabulary hash, sizes, recipe.

    Raises: ValueError, if the file is no TFLite file or was not made by kerascompact.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> read_metadata(kerascompact.export.convert(model))["embeddings"][0]["form"]
    'CodebookForm'
    """
    metadata = metadata_of(read(file)[1])
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
            content = bytes(bytearray(model.buffers[entry.buffer].data))
            try:
                found = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    "`flatbuffer` must be a file with metadata as kerascompact writes them, JSON. "
                    f"Received: metadata of {len(content)} bytes that are none ({error})."
                ) from error
            if not metadata_fits(found):
                checks.fail("flatbuffer", "a file with metadata as kerascompact writes them", found)
            found.pop("crc32", None)  # of the file, not of the model
            return found
    return None


def add_metadata(model: Any, metadata: dict[str, Any]) -> None:
    """Writes the JSON into a parsed model, as compact as JSON gets.

    Its first entry is `crc32`, which `pack` fills in.
    """
    text = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    text = "{" + checksum.EMPTY + ("," if metadata else "") + text[1:]
    buffer, entry = schema.BufferT(), schema.MetadataT()
    buffer.data = np.frombuffer(text.encode("utf-8"), np.uint8)
    entry.name, entry.buffer = METADATA_NAME, len(model.buffers)
    model.buffers.append(buffer)
    model.metadata = [*(model.metadata or []), entry]


def slim(model: Any) -> None:
    """Drops what the converter writes and no runtime reads.

    An empty buffer for each activation (all can share buffer 0, which is empty by definition),
    equal constants stored twice, shape signatures that repeat the shape, ranks that the shape
    tells, and empty quantization tables. Inputs and outputs get the names of their signature; of
    other names, see `tensor_names.pack`.
    """
    empty = schema.BufferT()
    buffers, number = [empty], {b"": 0}
    for position, graph in enumerate(model.subgraphs):
        graph.name = graph.name if position == 0 else None
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            data = b"" if data is None else bytes(bytearray(data))
            if data not in number:
                number[data] = len(buffers)
                buffers.append(model.buffers[tensor.buffer])
            tensor.buffer = number[data]
            scales = tensor.quantization
            if scales is not None and scales.scale is None and scales.details is None:
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
    names = []
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            number = max(code.builtinCode, code.deprecatedBuiltinCode)
            custom = code.customCode
            names.append(
                f"CUSTOM:{custom.decode('utf-8', 'replace')}"
                if custom
                else OPERATORS.get(number, str(number))
            )
    return names
