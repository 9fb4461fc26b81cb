"""The demo, quick: it runs through, and its files and its table belong together."""

import io
import json
import sys

import pytest

from kerascompact.cli import main
from kerascompact.runtime import TextClassifier
from kerascompact.tasks import demo as module
from kerascompact.tflite import read_metadata


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo") / "out"
    assert main(["demo", "--quick", "--out", str(out)]) == 0
    return out


@pytest.mark.slow
def test_writes_files_that_work(out):
    results = json.loads((out / "results.json").read_text())
    assert [row["method"] for row in results["rows"]] == 2 * ["standard"] + 2 * ["mixture"]
    assert [row["recipe"] for row in results["rows"]] == 2 * ["float32", "int8"]
    assert results["seconds"] > 0
    for row in results["rows"]:
        assert row["file_bytes"] == (out / row["file"]).stat().st_size
        assert row["argmax_agreement"] == 1
        assert row["test_rows"] == 300
        assert row["ratio"] == results["rows"][0]["file_bytes"] / row["file_bytes"]
        assert len(read_metadata(out / row["file"])["labels"]) == 150
        assert TextClassifier(out / row["file"]).predict("set an alarm").notes == ()


def test_draws_the_picture(out):
    pytest.importorskip("matplotlib")
    assert (out / "accuracy_against_bytes.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_there_is_a_note(out, tmp_path, monkeypatch, capsys):
    rows = json.loads((out / "results.json").read_text())["rows"]
    monkeypatch.setattr(module, "_rows", lambda setting, data, folder: rows)
    monkeypatch.setattr(module, "_examples", lambda file, console: None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    module.demo(tmp_path, quick=True)
    shown = capsys.readouterr().out
    assert "No picture: This needs the package" in shown
    assert "pip install 'kerascompact[plot]'" in shown
    assert not (tmp_path / "accuracy_against_bytes.png").exists()
    assert (tmp_path / "results.json").exists()


def test_the_table_fits_eighty_columns(out):
    from rich.console import Console

    rows = json.loads((out / "results.json").read_text())["rows"]
    rows[0] |= {"file_bytes": 512_345, "paper_bytes": 512_345, "hard_accuracy": 1.0}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(module._table(rows))
    shown = console.export_text()
    assert "512,345" in shown
    assert "100.00" in shown
    assert "…" not in shown


def test_a_folder_that_is_a_file_is_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert main(["demo", "--out", str(tmp_path / "taken")]) == 1
    assert "taken is a file" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"
