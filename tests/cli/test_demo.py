"""The demo, quick: files within their budgets, a table and answers."""

import pytest

from kerascompact.cli import main
from kerascompact.runtime import TextClassifier


@pytest.mark.slow
def test_writes_files_that_work(tmp_path, capsys):
    assert main(["demo", "--quick", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    for name, most in {"16KiB": 2**14, "32KiB": 2**15, "64KiB": 2**16}.items():
        path = tmp_path / "out" / name / "model.tflite"
        assert path.stat().st_size <= most
        answer = TextClassifier(path).predict("set an alarm")
        assert len(answer.labels) == 150 and answer.notes == ()
        assert f"{name}: 'please wake me up at seven tomorrow' ->" in shown
    assert (tmp_path / "out" / "frontier.png").exists()


def test_a_folder_that_is_a_file_is_refused_before_any_work(tmp_path, capsys):
    (tmp_path / "taken").write_text("mine")
    assert main(["demo", "--out", str(tmp_path / "taken")]) == 1
    assert "taken is a file" in capsys.readouterr().err
    assert (tmp_path / "taken").read_text() == "mine"


def test_minutes_are_checked(tmp_path, capsys):
    assert main(["demo", "--minutes", "0", "--out", str(tmp_path / "out")]) == 1
    assert "`minutes` must be" in capsys.readouterr().err
