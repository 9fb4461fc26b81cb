"""`kerascompact inspect`."""

import json

from kerascompact.cli import main
from kerascompact.tools import inspect


def test_prints_what_the_function_finds(trained, capsys):
    file = trained / "model.tflite"
    assert main(["inspect", str(file)]) == 0
    assert capsys.readouterr().out == f"{inspect(file)}\n"


def test_json_is_whole(trained, capsys):
    file = trained / "model.tflite"
    assert main(["inspect", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["num_bytes"] == file.stat().st_size
    assert found["custom"] == []
    assert found["metadata"]["labels"] == ["louder", "softer", "stop"]
    assert {"dtype", "num_bytes", "shape"} <= set(found["tensors"][0])


def test_refuses_what_is_no_tflite_file(trained, tmp_path, fails):
    data = (trained / "model.tflite").read_bytes()
    path = tmp_path / "bad.tflite"
    for content in (b"", b"hello, world", data[:100], data[:-1]):
        path.write_bytes(content)
        assert "bad.tflite: `flatbuffer` must be a" in fails("inspect", path)
    assert "none.tflite" in fails("inspect", tmp_path / "none.tflite")
    assert "directory" in fails("inspect", tmp_path)


def test_plot_draws_a_picture(trained, tmp_path, capsys, fails):
    file = trained / "model.tflite"
    assert main(["inspect", str(file), "--plot", str(tmp_path / "a" / "parts.png")]) == 0
    assert capsys.readouterr().out == f"{inspect(file)}\n"
    assert (tmp_path / "a" / "parts.png").read_bytes().startswith(b"\x89PNG")
    refused = fails("inspect", file, "--plot", tmp_path / "parts.txt")
    assert "`plot` must be one of '.png', '.svg', '.pdf'" in refused
