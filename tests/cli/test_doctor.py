"""`kerascompact doctor`: what the function finds, and a status for scripts."""

import json

import keras
import numpy as np
import pytest

from export_models import mean, standard
from kerascompact import export
from kerascompact.cli import main
from kerascompact.forms import DenseForm
from kerascompact.tools.doctor import diagnose


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("doctor") / "model.tflite"
    table = np.random.default_rng(0).normal(size=(90, 32)).astype(np.float32)
    form = DenseForm.from_arrays({"table": table}, input_dim=90, output_dim=32)
    ids = keras.Input((4,), dtype="int32", name="ids")
    return export.save(keras.Model(ids, form(ids)), path, recipe="float32")


def test_prints_what_the_function_finds(file, capsys):
    assert main(["doctor", str(file)]) == 1
    assert capsys.readouterr().out == f"{diagnose(file)}\n"


def test_the_limit_decides_the_status(file):
    share = diagnose(file).saved / file.stat().st_size
    assert main(["doctor", str(file), "--limit", str(share + 0.01)]) == 0
    assert main(["doctor", str(file), "--limit", str(share - 0.01)]) == 1
    assert main(["doctor", str(file), "--limit", "0"]) == 1


def test_a_healthy_file(tmp_path, capsys):
    file = export.save(mean(standard()), tmp_path / "small.tflite")
    assert main(["doctor", str(file)]) == 0
    assert "could be saved" not in capsys.readouterr().out


def test_json_is_whole(file, capsys):
    assert main(["doctor", str(file), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    (finding,) = found["findings"]
    assert found["num_bytes"] == file.stat().st_size and found["needs"] == []
    assert found["saved"] == finding["saved"] > 0 and finding["kind"] == "float table"


def test_refuses(file, tmp_path, fails):
    (tmp_path / "bad.tflite").write_bytes(file.read_bytes()[:200])
    assert "bad.tflite: `flatbuffer` must be a complete" in fails("doctor", tmp_path / "bad.tflite")
    assert "`limit` must be a number in (0, 1]" in fails("doctor", file, "--limit", "2")
    assert "none.tflite" in fails("doctor", tmp_path / "none.tflite")
