"""Offsets of a flatbuffer, written by hand: each that leads elsewhere is refused."""

import struct

import pytest

from export_models import file_of
from kerascompact.tflite import layout
from kerascompact.tflite.layout import check_layout, schema


@pytest.fixture(scope="module")
def data():
    return file_of("mean")


def by_hand(table, vtable=(4, 4), root=None, vtable_offset=None, tail=b""):
    """A file of one table: identifier, vtable at 8, the table behind it, then `tail`."""
    fields = struct.pack(f"<{len(vtable)}H", *vtable)
    fields += bytes(-len(fields) % 4)
    start = 8 + len(fields)
    offset = start - 8 if vtable_offset is None else vtable_offset
    root = start if root is None else root
    return struct.pack("<I", root) + b"TFL3" + fields + struct.pack("<i", offset) + table + tail


def test_takes_a_model_without_any_field():
    check_layout(by_hand(b""))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (by_hand(b"", root=2**31), "byte 2147483648 lies outside"),
        (by_hand(b"", root=0), "the offset at byte 0 leads to byte 0"),
        (by_hand(b"", root=13), "the offset at byte 0 leads to byte 13"),
        (by_hand(b"", vtable_offset=400), "byte -388 lies outside"),  # Python reads from the end
        (by_hand(b"", vtable_offset=-400), "byte 412 lies outside"),
        (by_hand(b"", (3, 4)), "the Model at byte 12 has no list of fields"),
        (by_hand(b"", (400, 4)), "the Model at byte 12 has no list of fields"),
        (by_hand(b"", (4, 3)), "the Model at byte 12 is cut"),
        (by_hand(b"", (4, 99)), "the Model at byte 12 is cut"),
        (by_hand(b"\3\0\0\0", (6, 8, 8)), "the Version of the Model at byte 16 lies outside"),
        (by_hand(b"\3\0\0\0", (6, 8, 5)), "the Version of the Model at byte 16 lies outside"),
        (by_hand(b"\0\1\0\0", (8, 8, 0, 4)), "byte 276 lies outside"),
        (by_hand(b"\4\0\0\0", (8, 8, 0, 4), tail=b"\2\0\0\0"), "2 entries, are cut"),
    ],
)
def test_refuses_offsets_that_lead_elsewhere(file, message):
    with pytest.raises(ValueError, match=message):
        check_layout(file)


def test_fields_are_those_of_the_schema():
    """Some, by hand from the schema's text."""
    tensor = {slot: field.name for slot, field in layout._fields("Tensor").items()}
    assert [tensor[slot] for slot in range(6)] == [
        "Shape", "Type", "Buffer", "Name", "Quantization", "IsVariable",
    ]  # fmt: skip
    quantization = layout._fields("QuantizationParameters")
    assert quantization[2][1:] == ("vector", 4, "")  # scale: [float]
    assert quantization[3][1:] == ("vector", 8, "")  # zero_point: [long]
    assert layout._fields("Operator")[4].kind == "union"
    assert layout._fields("Buffer")[1][1:3] == ("number", 8)  # offset: ulong


def test_every_table_of_the_schema_is_known():
    """A class that a field of a newer schema holds is not taken for a vector of numbers."""
    for (table, field), inner in layout._TABLES.items():
        assert any(entry.name == field for entry in layout._fields(table).values()), (table, field)
        assert hasattr(schema, inner)
    for (table, _), union in layout._UNIONS.items():
        for name in layout._union(union).values():
            assert name == "NONE" or layout._fields(name) is not None, (table, name)


def test_every_offset_of_a_real_file_is_followed(data):
    """Any field that leads out of the file is refused, wherever it stands."""
    check_layout(data)
    walk = layout._Walk(data)
    followed, follow = [], walk.follow
    walk.follow = lambda place: followed.append(place) or follow(place)
    walk.table("Model", 0)
    assert len(followed) > 100
    for place in followed:
        with pytest.raises(ValueError, match="lies outside|leads to|are cut"):
            check_layout(data[:place] + b"\xfc\xff\xff\x7f" + data[place + 4 :])


def test_a_string_must_end(data):
    place = data.index(b"ids\0") + 3
    with pytest.raises(ValueError, match="the Name at byte .* has no end"):
        check_layout(data[:place] + b"x" + data[place + 1 :])


def test_an_unknown_kind_of_options_is_refused(data):
    walk = layout._Walk(data)
    field = layout._Field("BuiltinOptions", "union", 4, "BuiltinOptions")
    with pytest.raises(ValueError, match="the BuiltinOptions at byte 8 are of the unknown kind"):
        walk.union(field, 0, 4, 8)


def test_item_bits():
    names = {layout.TYPE_NAMES[number]: bits for number, bits in layout.ITEM_BITS.items()}
    assert names["FLOAT32"] == 32 and names["INT4"] == 4 and names["BOOL"] == 8
    assert "STRING" not in names and "RESOURCE" not in names
