"""Reader and writer of `.tflite` files: parse, check, slim and pack a model."""

import os
import struct
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np

from kerascompact.core import checks
from kerascompact.tflite import checksum
from kerascompact.tflite.layout import ITEM_BITS, TYPE_NAMES, check_layout, schema
from kerascompact.tflite.metadata_schema import METADATA_NAME
from kerascompact.tflite.operators import OPERATORS
from kerascompact.tflite.validate import TooLargeError, check_model

__all__ = [
    "IDENTIFIER", "ITEM_BITS", "TYPE_NAMES", "load", "operator_names", "pack", "parse", "read",
    "schema", "slim",
]  # fmt: skip

IDENTIFIER = b"TFL3"
_DAMAGE = (
    struct.error, IndexError, TypeError, ValueError, AttributeError, MemoryError, RecursionError,
)  # fmt: skip


def load(file: bytes | str | Path) -> bytes:
    """Reads and checks a `.tflite` file.

    Args:
        file: Path or bytes of the file.

    Returns: The bytes of the file.

    Raises: ValueError, if it is not a TFLite file, or is truncated, damaged or edited;
        FileNotFoundError.
    """
    return read(file)[0]


def content(file: bytes | str | os.PathLike[str]) -> bytes:
    """The bytes of a file, given by its path or as they are.

    Raises: ValueError, if it is neither; OSError.
    """
    if not isinstance(file, bytes | str | os.PathLike):
        checks.fail("file", "the path or the bytes of a .tflite file", file)
    return file if isinstance(file, bytes) else Path(file).read_bytes()


def read(file: bytes | str | Path) -> tuple[bytes, Any]:
    """Reads, checks and parses a `.tflite` file.

    A file of kerascompact has a CRC-32 of all its bytes in its metadata, which detects any damage.
    Of other files, only the structure is checked; see `parse`.

    Args:
        file: Path or bytes of the file.

    Returns: The bytes of the file and its `ModelT`.

    Raises: ValueError, if it is not a TFLite file, or is truncated, damaged or edited;
        FileNotFoundError.
    """
    data = content(file)
    _check_is_tflite(data)
    if METADATA_NAME in data and (wrong := checksum.mismatch(data)):
        raise ValueError(
            f"`flatbuffer` must be a complete TFLite model. Received: {len(data)} bytes that are "
            f"truncated or damaged, or were changed since kerascompact wrote them ({wrong})."
        )
    return data, parse(data)


def parse(data: bytes) -> Any:
    """Parses the bytes of a `.tflite` file into the schema's `ModelT`, after checking them.

    Every offset must point to what the schema says (`check_layout`), and the runtime must be able
    to load every tensor, operator and signature (`check_model`).

    Args:
        data: Bytes of the file.

    Raises: TooLargeError, if a tensor is larger than the runtime can hold; ValueError, if it is
        not a TFLite file, or is truncated or damaged.
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
    except TooLargeError as error:
        raise TooLargeError(
            f"`flatbuffer` must have tensors that the runtime can hold. Received: {error}."
        ) from error
    except _DAMAGE as error:
        raise ValueError(
            f"`flatbuffer` must be a complete TFLite model. Received: {len(data)} bytes that are "
            f"truncated or damaged ({error})."
        ) from error
    return model


def _fill(table: Any, *names: str) -> None:
    """Sets vectors that are absent from the file to empty lists."""
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
    """Builder that writes equal vectors once: short ones (shapes, indices), and zero points."""

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
    """Table that is written once, however often it is used."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.offset: int | None = None

    def Pack(self, builder: flatbuffers.Builder) -> int:
        if self.offset is None:
            self.offset = self.table.Pack(builder)
        return self.offset


def _share_equal(tables: list[Any], written: dict[str, _Once]) -> list[_Once]:
    """Replaces equal tables by one; in a flatbuffer, several offsets may point to one table."""
    tables = [table.table if isinstance(table, _Once) else table for table in tables]
    return [written.setdefault(_contents(table), _Once(table)) for table in tables]


def _contents(table: Any) -> str:
    """Text of a table's class and fields, nested tables included, to compare tables by."""
    if isinstance(table, np.ndarray):
        return repr(table.tolist())
    if isinstance(table, list | tuple):
        return repr([_contents(entry) for entry in table])
    if hasattr(table, "__dict__"):
        fields = sorted(vars(table).items())
        return type(table).__name__ + repr([(name, _contents(field)) for name, field in fields])
    return repr(table)


def pack(model: Any) -> bytes:
    """Writes a `ModelT` into the bytes of a file.

    Equal tensors (activations of one shape and type), equal operator options and equal short
    vectors are written once, which saves a third of a small graph. If the file has kerascompact's
    metadata, they get its checksum; see `checksum`.

    Args:
        model: `ModelT` of the schema; equal tables in it are replaced in place.

    Returns: The bytes of the file.
    """
    builder = _Builder()
    written: dict[str, _Once] = {}
    for graph in model.subgraphs:
        graph.tensors = _share_equal(graph.tensors, written)
        for operator in graph.operators:
            if operator.builtinOptions is not None:
                (operator.builtinOptions,) = _share_equal([operator.builtinOptions], written)
    builder.Finish(model.Pack(builder), IDENTIFIER)
    return checksum.with_checksum(bytes(builder.Output()))


def slim(model: Any) -> None:
    """Removes what the converter writes and no runtime reads.

    These are: an empty buffer for each activation (all can share buffer 0, which is always empty),
    constants that are stored twice, shape signatures and ranks that repeat the shape, and empty
    quantization tables. Inputs and outputs get the names in their signature; `tensor_names.pack`
    handles all other names.

    Args:
        model: `ModelT` of the schema, changed in place.
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
            tensor.hasRank = False  # only importers read it; without it they use the shape
            if tensor.shapeSignature is not None and -1 not in tensor.shapeSignature:
                tensor.shapeSignature = None
    for signature in model.signatureDefs or []:
        graph = model.subgraphs[signature.subgraphIndex]
        for port in (*signature.inputs, *signature.outputs):
            graph.tensors[port.tensorIndex].name = port.name  # not "serving_default_ids:0"
    for entry in model.metadata or []:
        buffers.append(model.buffers[entry.buffer])
        entry.buffer = len(buffers) - 1
    model.buffers = buffers
    if model.description == b"MLIR Converted.":  # not one that its author gave it
        model.description = None


def operator_names(model: Any) -> list[str]:
    """Names of all operators of all subgraphs; "CUSTOM:" and its name for a custom one."""
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
