"""Tiny files in the format of the real ones, and the folder of the real ones if it is there."""

import gzip
import hashlib
import lzma

import pytest

from kerascompact.datasets.base import Known, data_dir


@pytest.fixture(scope="session")
def real_data():
    """The data folder; a test that asks for it is skipped where there is none."""
    try:
        return data_dir()
    except ValueError as error:
        pytest.skip(str(error))


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Writes `content` where `module.FILES[split]` is looked for, and makes it the known file."""

    def write(module, split, content: bytes, rows: int):
        known = module.FILES[split]
        path = tmp_path / known.path
        path.parent.mkdir(exist_ok=True)
        packed = (lzma if known.path.endswith(".xz") else gzip).compress(content)
        path.write_bytes(packed)
        digest = hashlib.sha256(packed).hexdigest()
        monkeypatch.setitem(module.FILES, split, Known(known.path, digest, rows))
        return tmp_path

    return write
