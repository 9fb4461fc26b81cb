"""`kerascompact bench`: a table for people, JSON for programs."""

import json
import shutil
from pathlib import Path

import pytest

from kerascompact.cli import main
from kerascompact.commands.bench import _texts


@pytest.fixture(scope="module")
def files(trained, text_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    return (
        Path(shutil.copy(trained / "model.tflite", folder / "ids.tflite")),
        Path(shutil.copy(text_file, folder / "text.tflite")),
    )


def test_a_table_with_a_ratio(files, capsys):
    ids, text = map(str, files)
    assert main(["bench", text, "--baseline", ids, "--runs", "20", "--threads", "2"]) == 0
    out = capsys.readouterr().out
    assert "20 runs in turns, 2 threads" in out
    for word in ("text.tflite", "ids.tflite", "ratio", "p50, us", "p99, us", "load, ms", "memory,"):
        assert word in out
    assert "memory without files, KiB" in out
    sizes = [f"{file.stat().st_size:,}" for file in files]
    assert all(size in out for size in sizes)
    assert f"{files[1].stat().st_size / files[0].stat().st_size:.2f}" in out


def test_json(files, tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("raise the music\n\nhalt\n")
    options = ["--runs", "20", "--json", "--texts", str(tmp_path / "texts.txt")]
    assert main(["bench", str(files[1]), *options]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["name"] == "text.tflite" and found["runs"] == 20
    assert found["p50_us"] <= found["p90_us"] <= found["p99_us"]


def test_only_line_breaks_part_texts(tmp_path):
    (tmp_path / "texts.txt").write_bytes(
        "\ufeffraise\u2028the\x0cmusic\r\n\r\nhalt\x85now".encode()
    )
    assert _texts(tmp_path / "texts.txt") == ["raise\u2028the\x0cmusic", "halt\x85now"]


def test_refuses(files, tmp_path, fails):
    assert "`runs` must be an integer >= 1" in fails("bench", files[0], "--runs", "0")
    assert "none.tflite" in fails("bench", tmp_path / "none.tflite")
    (tmp_path / "empty.txt").write_text("\n")
    line = fails("bench", files[1], "--texts", tmp_path / "empty.txt")
    assert "empty.txt: it has no text" in line
