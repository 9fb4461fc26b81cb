"""A file is whole or absent, whatever fails."""

import hashlib
import os
import stat

import pytest

from kerascompact.core import files


def test_writes_and_makes_folders(tmp_path):
    path = files.write_bytes(tmp_path / "a" / "b" / "model.tflite", b"\x00\xff")
    assert path.read_bytes() == b"\x00\xff"
    assert os.listdir(path.parent) == ["model.tflite"]


def test_replaces_and_takes_a_string(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"a longer old file")
    assert files.write_bytes(str(path), b"new") == path
    assert path.read_bytes() == b"new"


def test_mode_is_that_of_an_ordinary_file(tmp_path):
    ordinary = tmp_path / "ordinary"
    ordinary.touch()
    written = files.write_bytes(tmp_path / "written", b"")
    assert stat.S_IMODE(written.stat().st_mode) == stat.S_IMODE(ordinary.stat().st_mode)


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt("stopped")])
def test_failure_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, step, error):
    path = tmp_path / "model.tflite"
    path.write_bytes(b"old")

    def fail(*_):
        raise error

    monkeypatch.setattr(files.os, step, fail)
    with pytest.raises(type(error), match=str(error)):
        files.write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model.tflite"]


def test_target_that_is_a_folder_is_refused_and_kept(tmp_path):
    (tmp_path / "model.tflite").mkdir()
    with pytest.raises(OSError, match="directory"):
        files.write_bytes(tmp_path / "model.tflite", b"new")
    assert os.listdir(tmp_path) == ["model.tflite"]


def test_sha256():
    assert files.sha256(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_the_longest_names(tmp_path):
    name = 255 * "n"
    assert files.write_bytes(tmp_path / name, b"a").name == name
