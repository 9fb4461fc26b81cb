"""Held-out splits by hand, and files that are not what they should be."""

import gzip
import hashlib
import lzma
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from kerascompact.datasets import base
from kerascompact.datasets.base import Dataset, Known, Split, data_dir, hold_out


def split_of(*sizes):
    labels = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    labels = np.random.default_rng(0).permutation(labels)
    return Split([f"text {i}" for i in range(len(labels))], labels)


@pytest.mark.parametrize(
    ("sizes", "count", "quotas"),
    [
        ((10, 10), 4, [2, 2]),
        ((10, 10), 5, [3, 2]),  # equal remainders: the smaller label first
        ((70, 20, 10), 10, [7, 2, 1]),
        ((75, 15, 10), 10, [8, 1, 1]),  # 7.5, 1.5, 1.0
        ((97, 2, 1), 10, [10, 0, 0]),  # 9.7, 0.2, 0.1
        ((1, 1, 98), 50, [0, 0, 50]),  # a class of one row stays behind
        ((2, 2, 2), 3, [1, 1, 1]),
        ((1, 9), 8, [0, 8]),
        ((50, 2), 50, [49, 1]),
    ],
)
def test_hold_out_is_in_proportion(sizes, count, quotas):
    rest, held = hold_out(split_of(*sizes), count)
    assert np.bincount(held.labels, minlength=len(sizes)).tolist() == quotas
    assert len(rest.texts) == sum(sizes) - count
    assert set(rest.labels) == set(range(len(sizes)))


@pytest.mark.parametrize("balanced", [True, False])
def test_hold_out_parts_the_rows(balanced):
    whole = split_of(30, 20, 10)
    rest, held = hold_out(whole, 25, seed=3, balanced=balanced)
    rows = dict(zip(whole.texts, whole.labels, strict=True))
    assert sorted(rest.texts + held.texts) == sorted(whole.texts)
    for part in (rest, held):
        assert [rows[text] for text in part.texts] == part.labels.tolist()
        assert part.texts == [text for text in whole.texts if text in set(part.texts)]
        assert part.labels.dtype == np.int32


@pytest.mark.parametrize("balanced", [True, False])
def test_hold_out_is_seeded(balanced):
    whole = split_of(30, 30)
    first, again, other = (hold_out(whole, 20, s, balanced)[1].texts for s in (0, 0, 1))
    assert first == again != other


def test_hold_out_rejects():
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 4\]"):
        hold_out(split_of(3, 3), 5)
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 5\]"):
        hold_out(split_of(3, 3), 6, balanced=False)
    with pytest.raises(ValueError, match=r"`count` must be an integer in \[1, 4\]"):
        hold_out(split_of(3, 3), 0.5)
    with pytest.raises(ValueError, match="more rows than classes.*2 rows of 2 classes"):
        hold_out(split_of(1, 1), 1)
    with pytest.raises(ValueError, match="`seed` must be an integer >= 0"):
        hold_out(split_of(3, 3), 1, seed=-1)
    with pytest.raises(ValueError, match="`balanced` must be True or False"):
        hold_out(split_of(3, 3), 1, balanced=1)


def test_a_data_set_is_frozen():
    split = split_of(1, 1)
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
        with pytest.raises(ValueError, match=rf"{name} cannot be unpacked, it is damaged"):
            base.unpack(damaged, name)


def test_make_split_counts_the_rows():
    with pytest.raises(ValueError, match=r"a\.csv must have 3 rows. Received: 1 rows"):
        base.make_split(["x"], ["no"], ["no"], Known("a.csv", "", 3))
