"""The checksum, computed otherwise, and every damage that it tells."""

import zlib

import numpy as np
import pytest

from export_models import file_of
from kerascompact import tflite
from kerascompact.tflite import checksum, flatbuffer


@pytest.fixture(scope="module")
def data():
    return file_of("mean")


def test_is_of_all_bytes_with_zeros_where_it_stands(data):
    start = data.index(b'{"crc32":"') + 10
    expected = zlib.crc32(data[:start] + b"00000000" + data[start + 8 :])
    assert int(data[start : start + 8], 16) == expected
    assert checksum.mismatch(data) is None


def test_every_flipped_bit_is_told(data):
    """But for those of the checksum's own name, without which it is like a file of others."""
    name = data.index(b'{"crc32":"')
    for place in (*range(64), *np.random.default_rng(0).integers(64, len(data), 100)):
        for bit in (0, 3, 7):
            flipped = bytearray(data)
            flipped[place] ^= 1 << bit
            if name <= place < name + 10:
                continue
            with pytest.raises(ValueError, match="`flatbuffer` must be a (complete )?TFLite model"):
                flatbuffer.read(bytes(flipped))


def test_a_file_that_was_changed_can_be_sealed_anew(data):
    changed = data.replace(b'"a","b"', b'"z","b"')
    with pytest.raises(ValueError, match="or were changed .*their checksum is .*, and should be"):
        flatbuffer.load(changed)
    again = checksum.with_checksum(changed)
    assert tflite.read_metadata(again)["labels"] == ["z", "b", "c"]
    assert checksum.with_checksum(again) == again and len(again) == len(data)


def test_a_model_that_is_edited_and_packed_is_sealed(data):
    model = flatbuffer.parse(data)
    model.subgraphs[0].name = b"other"
    packed = flatbuffer.pack(model)
    assert packed != data and flatbuffer.load(packed) == packed


def test_no_metadata_no_seal():
    for data in (b"", b"TFL3", b'{"crc32":'):
        assert checksum.with_checksum(data) == data and checksum.mismatch(data) is None
