"""The archive behind a flatbuffer, against `zipfile` and a damaged one."""

import io
import zipfile

import pytest

from kerascompact.tflite.associated_files import associated_files, with_files

FILES = {"vocab.txt": b"good 1\nbad 2\n", "labels.txt": b"a\nb"}


def test_files_come_back_and_are_not_compressed():
    data = with_files(b"a model" * 9, FILES)
    assert data.startswith(b"a model" * 9) and associated_files(data) == FILES
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {one.compress_type for one in archive.infolist()} == {zipfile.ZIP_STORED}
    assert data == with_files(b"a model" * 9, FILES)  # no date of today in it
    assert with_files(b"a model", {}) == b"a model" and associated_files(b"a model") == {}


def test_a_damaged_archive_is_refused():
    data = bytearray(with_files(b"a model", FILES))
    data[data.index(b"good")] ^= 1
    with pytest.raises(ValueError, match="a damaged archive of files"):
        associated_files(bytes(data))
