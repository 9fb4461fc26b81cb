"""Deflated metadata: read back, never longer than the text, and refused when damaged."""

import zlib

import pytest

from kerascompact.tflite import checksum, packed_json

LABELS = {"labels": [f"a label of some length, {number}" for number in range(99)], "text": {}}


@pytest.mark.parametrize("metadata", [{}, {"a": 1}, LABELS, {"labels": ["caf\u00e9", "\u65e5"]}])
@pytest.mark.parametrize("deflate", [False, True])
def test_reads_back(metadata, deflate):
    content = packed_json.packed(metadata, deflate)
    assert packed_json.unpacked(content) == {"crc32": "00000000", **metadata}
    assert len(content) <= len(packed_json.packed(metadata))
    filled = checksum.with_checksum(content)
    assert packed_json.unpacked(filled)["crc32"] != "00000000"
    assert checksum.mismatch(filled) is None


def test_labels_take_less():
    short = packed_json.packed(LABELS, deflate=True)
    assert len(short) < len(packed_json.packed(LABELS)) / 4


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: content[:25] + b"\xff" + content[26:],
        lambda content: content[:22] + deflated(b"[1]"),
        lambda content: content[:22] + deflated(b"no JSON"),
        lambda content: content[:22] + deflated(b" " * (packed_json.LARGEST + 9)),
        lambda content: b"[" + content[1:],
    ],
)
def test_refuses_damage(change):
    with pytest.raises(ValueError, match=r"deflated JSON|Expecting"):
        packed_json.unpacked(change(packed_json.packed(LABELS, deflate=True)))


def deflated(text):
    stream = zlib.compressobj(9, zlib.DEFLATED, -15)
    return stream.compress(text) + stream.flush()
