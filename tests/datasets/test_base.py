"""Files that are not what they should be, and where they are looked for."""

import gzip
import hashlib
import lzma
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from kerascompact.datasets import base
from kerascompact.datasets.base import Dataset, Known, Split, data_dir


def test_a_data_set_is_frozen():
    split = Split(["a", "b"], np.array([0, 1], np.int32))
    data = Dataset("mine", split, split, split, ("a", "b"), "")
    with pytest.raises(FrozenInstanceError, match="name"):
        data.name = "yours"


def test_data_dir_order(tmp_path, monkeypatch):
    given, environment = tmp_path / "given", tmp_path / "environment"
    beside = tmp_path / "shared" / "data"
    for folder in (given, environment, beside):
        folder.mkdir(parents=True)
    monkeypatch.setattr(base, "_checkout", lambda: tmp_path / "checkout")
    monkeypatch.setenv("KERASCOMPACT_DATA", str(environment))
    assert data_dir(given) == given
    assert data_dir() == environment
    monkeypatch.delenv("KERASCOMPACT_DATA")
    assert data_dir() == beside


def test_data_dir_rejects(tmp_path, monkeypatch):
    monkeypatch.setattr(base, "_checkout", lambda: tmp_path / "checkout")
    monkeypatch.delenv("KERASCOMPACT_DATA", raising=False)
    with pytest.raises(ValueError, match="`data=`, `--data`, or the environment variable KERASCOM"):
        data_dir()
    with pytest.raises(ValueError, match=r"There is no data folder .*no \(from `data`\)"):
        data_dir(tmp_path / "no")
    with pytest.raises(ValueError, match="`data` must be the path of a folder"):
        data_dir(3)
    monkeypatch.setenv("KERASCOMPACT_DATA", str(tmp_path / "no"))
    with pytest.raises(ValueError, match=r"no \(from KERASCOMPACT_DATA\)"):
        data_dir()


@pytest.mark.parametrize(
    ("name", "pack"), [("a.gz", gzip.compress), ("a.xz", lzma.compress), ("a.txt", bytes)]
)
def test_read_known(tmp_path, name, pack):
    packed = pack(b"some text" * 50)
    (tmp_path / name).write_bytes(packed)
    known = Known(name, hashlib.sha256(packed).hexdigest(), 1)
    assert base.read_known(known, tmp_path, "nowhere") == b"some text" * 50


def test_read_known_rejects_another_file(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"other")
    found = hashlib.sha256(b"other").hexdigest()
    with pytest.raises(ValueError, match=rf"a\.txt is dam.*sha256=00.*sha256={found} \(5 bytes\)"):
        base.read_known(Known("a.txt", "00", 1), tmp_path, "nowhere")


def test_read_known_says_where_to_get_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"no file .*b\.txt. Get it from example\.org.*`--data`"):
        base.read_known(Known("b.txt", "00", 1), tmp_path, "example.org")


@pytest.mark.parametrize(("name", "pack"), [("a.gz", gzip.compress), ("a.xz", lzma.compress)])
def test_unpack_rejects_damage(name, pack):
    packed = pack(np.random.default_rng(0).bytes(500))
    flipped = packed[:200] + bytes([packed[200] ^ 1]) + packed[201:]
    for damaged in (packed[:-9], packed[:5], flipped, b"plain text"):
        with pytest.raises(ValueError, match=rf"{name} cannot be unpacked: the file is damaged"):
            base.unpack(damaged, name)


def test_make_split_counts_the_rows():
    with pytest.raises(ValueError, match=r"a\.csv must have 3 rows. Received: 1 rows"):
        base.make_split(["x"], ["no"], ["no"], Known("a.csv", "", 3))
