"""Layout check of a TFLite flatbuffer: every offset must point to what the schema says.

The runtime follows offsets without checks, so a wrong one crashes the process. In NumPy and
`struct`, a negative offset silently reads from the end of the file.
"""

import functools
import inspect
import struct
from typing import Any, NamedTuple

from ai_edge_litert import schema_py_generated as schema

TYPE_NAMES = {value: name for name, value in vars(schema.TensorType).items() if name[0] != "_"}
ITEM_BITS = {
    number: bits
    for number, name in TYPE_NAMES.items()
    for names, bits in {
        "INT2": 2, "INT4 UINT4": 4, "INT8 UINT8 BOOL": 8, "FLOAT16 BFLOAT16 INT16 UINT16": 16,
        "FLOAT32 INT32 UINT32": 32, "FLOAT64 INT64 UINT64 COMPLEX64": 64, "COMPLEX128": 128,
    }.items()
    if name in names.split()
}  # fmt: skip

# Fields that hold tables, with the class of these; all others hold numbers, vectors or strings.
_TABLES = {
    ("Model", "OperatorCodes"): "OperatorCode",
    ("Model", "Subgraphs"): "SubGraph",
    ("Model", "Buffers"): "Buffer",
    ("Model", "Metadata"): "Metadata",
    ("Model", "SignatureDefs"): "SignatureDef",
    ("Model", "ExternalBufferGroups"): "ExternalBufferGroup",
    ("Model", "ExternalBuffers"): "ExternalBuffer",
    ("SubGraph", "Tensors"): "Tensor",
    ("SubGraph", "Operators"): "Operator",
    ("Tensor", "Quantization"): "QuantizationParameters",
    ("Tensor", "Sparsity"): "SparsityParameters",
    ("Tensor", "VariantTensors"): "VariantSubType",
    ("SparsityParameters", "DimMetadata"): "DimensionMetadata",
    ("SignatureDef", "Inputs"): "TensorMap",
    ("SignatureDef", "Outputs"): "TensorMap",
}
# Fields that hold a table of one of several classes; the field before them says which.
_UNIONS = {
    ("QuantizationParameters", "Details"): "QuantizationDetails",
    ("DimensionMetadata", "ArraySegments"): "SparseIndexVector",
    ("DimensionMetadata", "ArrayIndices"): "SparseIndexVector",
    ("Operator", "BuiltinOptions"): "BuiltinOptions",
    ("Operator", "BuiltinOptions2"): "BuiltinOptions2",
}


class _Field(NamedTuple):
    """Field of a table.

    Args:
        name: Name of the field in the schema.
        kind: "number", "vector", "string", "table", "tables" or "union".
        size: Bytes of the number, or of an entry of the vector.
        table: Class or union that the field holds.
    """

    name: str
    kind: str
    size: int
    table: str = ""


class _Recorder:
    """Stand-in for a `flatbuffers.Builder` that records what the generated code writes where."""

    def __init__(self) -> None:
        self.last: tuple[str, tuple[int, ...]] = ("", ())

    def __getattr__(self, name: str) -> Any:
        def record(*arguments: int) -> None:
            self.last = name, arguments

        return record


@functools.cache
def _fields(table: str) -> dict[int, _Field]:
    """Fields of a class by slot, found by calling the code that is generated from the schema."""
    found, recorder = {}, _Recorder()
    for function, add in inspect.getmembers(schema, inspect.isfunction):
        if not function.startswith(f"{table}Add"):
            continue
        name = function.removeprefix(f"{table}Add")
        add(recorder, 0)
        written, (slot, *_) = recorder.last
        start = getattr(schema, f"{table}Start{name}Vector", None)
        if start is not None:
            start(recorder, 0)
        size = 4 if start is None else recorder.last[1][0]
        inner = _TABLES.get((table, name), _UNIONS.get((table, name), ""))
        if written != "PrependUOffsetTRelativeSlot":
            kind, size = "number", _number_size(written)
        elif (table, name) in _UNIONS:
            kind = "union"
        elif inner:
            kind = "table" if start is None else "tables"
        else:
            kind = "string" if start is None else "vector"
        found[slot] = _Field(name, kind, size, inner)
    return found


def _number_size(written: str) -> int:
    """Bytes that a method of the builder writes, such as 4 for `PrependInt32Slot`."""
    digits = "".join(filter(str.isdigit, written))
    return int(digits) // 8 if digits else 1


@functools.cache
def _union(name: str) -> dict[int, str]:
    """Classes of a union by their numbers."""
    return {value: key for key, value in vars(getattr(schema, name)).items() if key[0] != "_"}


def check_layout(data: bytes) -> None:
    """Follows every offset of a TFLite file and checks that it fits the schema.

    Args:
        data: Bytes of the file.

    Raises: ValueError, if a table, vector or string lies outside, or is of an unknown kind.

    >>> check_layout(b"\\x20\\0\\0\\0TFL3" + b"\\0" * 8)
    Traceback (most recent call last):
        ...
    ValueError: byte 32 lies outside
    """
    _Walk(data).table("Model", 0)


class _Walk:
    """Visitor of all tables of a file; each is read once, however many offsets point to it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.seen: set[tuple[str, int]] = set()

    def number(self, place: int, letter: str) -> int:
        size = struct.calcsize(letter)
        if not 0 <= place <= len(self.data) - size:
            raise ValueError(f"byte {place} lies outside")
        return struct.unpack_from("<" + letter, self.data, place)[0]

    def follow(self, place: int) -> int:
        """The position that the offset at `place` points to."""
        target = place + self.number(place, "I")
        if target == place or target % 4:
            raise ValueError(f"the offset at byte {place} leads to byte {target}")
        return target

    def table(self, name: str, place: int) -> None:
        """Checks the table that the offset at `place` points to, and all tables inside it."""
        start = self.follow(place)
        if (name, start) in self.seen:
            return
        self.seen.add((name, start))
        vtable = start - self.number(start, "i")
        length, inline = self.number(vtable, "H"), self.number(vtable + 2, "H")
        if length % 2 or length < 4 or vtable % 2 or vtable + length > len(self.data):
            raise ValueError(f"the {name} at byte {start} has no list of fields")
        if inline < 4 or start + inline > len(self.data):
            raise ValueError(f"the {name} at byte {start} is cut")
        fields = _fields(name)
        slots = struct.unpack_from(f"<{length // 2 - 2}H", self.data, vtable + 4)
        for slot, offset in enumerate(slots):
            field = fields.get(slot)
            if offset == 0 or field is None:  # absent, or of a newer schema
                continue
            size = field.size if field.kind == "number" else 4
            if offset < 4 or offset + size > inline or (start + offset) % min(size, 4):
                raise ValueError(f"the {field.name} of the {name} at byte {start} lies outside")
            if field.kind == "union":
                self.union(field, slots[slot - 1] if slot else 0, start, start + offset)
            elif field.kind != "number":
                self.held(field, start + offset)

    def union(self, field: _Field, type_offset: int, start: int, place: int) -> None:
        number = self.data[start + type_offset] if type_offset else 0
        known = _union(field.table)
        if number not in known or known[number] == "NONE":
            raise ValueError(f"the {field.name} at byte {place} are of the unknown kind {number}")
        self.table(known[number], place)

    def held(self, field: _Field, place: int) -> None:
        if field.kind == "table":
            self.table(field.table, place)
            return
        start = self.follow(place)
        count = self.number(start, "I")
        size = 1 if field.kind == "string" else field.size
        if start + 4 + count * size > len(self.data):
            raise ValueError(f"the {field.name} at byte {start}, {count} entries, are cut")
        if field.kind == "string" and self.number(start + 4 + count, "B") != 0:
            raise ValueError(f"the {field.name} at byte {start} has no end")
        if field.kind == "tables":
            for index in range(count):
                self.table(field.table, start + 4 + 4 * index)
