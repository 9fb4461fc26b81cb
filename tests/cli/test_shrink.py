"""`kerascompact shrink`: the file it writes, its report, and what it refuses."""

import json

import keras
import numpy as np
import pytest

from kerascompact import export, tools
from kerascompact.cli import main
from kerascompact.core.arrays import save_npz


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    ids = keras.Input((4,), dtype="int32", name="ids")
    model = keras.Model(ids, keras.layers.Embedding(1500, 8, name="words")(ids))
    return export.save(model, tmp_path_factory.mktemp("shrink") / "a.tflite", recipe="float32")


def test_writes_what_the_function_makes(file, tmp_path, capsys):
    out, rows = tmp_path / "b.tflite", np.random.default_rng(0).integers(0, 900, (7, 4))
    np.save(tmp_path / "rows.npy", rows)
    command = ["shrink", str(file), "--recipe", "int4", "--calibrate", str(tmp_path / "rows.npy")]
    assert main([*command, "--out", str(out)]) == 0
    found = tools.shrink(file, "int4", calibrate=rows)
    assert out.read_bytes() == found.data and capsys.readouterr().out == f"{found}\n"
    save_npz(tmp_path / "rows.npz", ids=rows)
    command[-1] = str(tmp_path / "rows.npz")
    assert main([*command, "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["bytes_after"] == len(found.data) and told["outputs"][1]["rows"] == 7


def test_codes(file, tmp_path, capsys):
    out = tmp_path / "b.tflite"
    assert main(["shrink", str(file), "--recipe", "codes", "-o", str(out)]) == 0
    assert "2 codes of 8 bits" in capsys.readouterr().out and out.stat().st_size < 8000


def test_refuses(file, tmp_path, fails):
    out = tmp_path / "b.tflite"
    assert "must end in .tflite" in fails("shrink", file, "-o", tmp_path / "b.keras")
    assert "not the one that is read" in fails("shrink", file, "-o", file)
    assert "--numbers-per-code is not an option of --recipe int8" in fails(
        "shrink", file, "-o", out, "--numbers-per-code", 2
    )
    assert "rows.npy" in fails("shrink", file, "-o", out, "--calibrate", tmp_path / "rows.npy")
    (tmp_path / "texts.txt").write_text("one two\n\nthree\n")  # of ids it has none
    line = fails("shrink", file, "-o", out, "--calibrate", tmp_path / "texts.txt")
    assert "`calibrate` must be rows of shape [4] for 'ids'" in line
    wrong = fails("shrink", file, "-o", out, "--max-error", "1e-9")
    assert f"{file}: The smaller file must answer" in wrong and not out.exists()
