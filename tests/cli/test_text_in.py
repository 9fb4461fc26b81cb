"""Files that take text, through every command."""

import io
import sys

import pytest

from kerascompact import tools
from kerascompact.cli import main
from kerascompact.text import Vocabulary


def test_export_says_what_the_vocabulary_costs(trained, text_export):
    out, printed = text_export
    words = len(Vocabulary.load(trained / "vocabulary.txt").words)
    inside = -(-words * (32 + (words - 1).bit_length()) // 8)
    assert (
        f"{out}: {out.stat().st_size:,} bytes, text in; {inside:,} of them are the vocabulary\n"
        in printed
    )
    assert [path.name for path in out.parent.iterdir()] == ["model.tflite"]
    assert tools.inspect(out).inputs == ["text int32[1, 80]"]


@pytest.mark.slow
def test_export_takes_texts_of_any_length(trained, tmp_path):
    out = tmp_path / "open.tflite"
    assert main(["export", str(trained), "--text-in", "--out", str(out)]) == 0
    assert tools.inspect(out).inputs == ["text int32[1, ?]"]


def test_predicts_as_the_file_of_ids_does(trained, text_file, capsys):
    texts = ["please increase the music", "HALT the music, number 3", "dampen it"]
    for text in texts:
        assert main(["predict", str(trained / "model.tflite"), text]) == 0
        wanted = capsys.readouterr().out
        assert main(["predict", str(text_file), text]) == 0
        assert capsys.readouterr().out == wanted


def test_notes_of_predict(trained, text_file, capsys, monkeypatch):
    words = str(trained / "vocabulary.txt")
    assert main(["predict", str(text_file), "xyzzy", "--vocabulary", words]) == 0
    assert "no word of the text is in the vocabulary" in capsys.readouterr().err
    assert main(["predict", str(text_file), "xyzzy"]) == 0  # without the words nobody can tell
    assert capsys.readouterr().err == ""
    stdin = type("Stdin", (), {"buffer": io.BytesIO(b"please " * 20)})()
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["predict", str(text_file), "-"]) == 0
    assert "note: line 1: text cut to its first 80 of 140 bytes" in capsys.readouterr().err


def test_verify_reads_the_texts(trained, table, text_file, tmp_path, capsys, fails):
    options = ["--model", str(trained / "model.keras"), "--data", str(table)]
    assert main(["verify", str(text_file), *options]) == 0
    out = capsys.readouterr().out
    assert "240 examples, " in out and "frozen model - file: argmax agreement 1.000000" in out
    assert "accuracy: trained " in out
    other = Vocabulary(["a"]).save(tmp_path / "other.txt")
    line = fails("verify", text_file, *options, "--vocabulary", other)
    assert "was trained with another vocabulary" in line
    (tmp_path / "model.keras").write_bytes((trained / "model.keras").read_bytes())
    alone = ["--model", tmp_path / "model.keras", "--data", table]
    assert "vocabulary.txt" in fails("verify", text_file, *alone)
    words = str(trained / "vocabulary.txt")
    assert main(["verify", str(text_file), *map(str, alone), "--vocabulary", words]) == 0


def test_inspect_shows_text(text_file, capsys):
    assert main(["inspect", str(text_file)]) == 0
    out = capsys.readouterr().out
    assert "in:  text int32[1, 80]" in out
    assert "text in: UTF-8 bytes, 80 bytes and 8 tokens, cut by the rules 'wordpunct'" in out


def test_refuses(trained, tmp_path, fails):
    out = tmp_path / "m.tflite"
    assert "--max-bytes needs --text-in" in fails(
        "export", trained, "--max-bytes", "9", "--out", out
    )
    assert "`max_bytes` must be" in fails(
        "export", trained, "--text-in", "--max-bytes", "0", "--out", out
    )
    assert not out.exists()


@pytest.mark.slow
def test_a_projection_needs_no_vocabulary(projected, table, tmp_path, capsys):
    folder, _ = projected
    out = tmp_path / "app" / "model.tflite"
    assert main(["export", str(folder), "--out", str(out)]) == 0
    assert out.read_bytes() == (folder / "model.tflite").read_bytes()
    assert "bytes, text in; no vocabulary\n" in capsys.readouterr().out
    assert [path.name for path in out.parent.iterdir()] == ["model.tflite"]
    for text in ("please increase the music", "plaese halt the msuic"):
        assert main(["predict", str(out), text]) == 0
        assert capsys.readouterr().out.split("\t")[0] in ("louder", "softer", "stop")
    options = ["--model", str(folder / "model.keras"), "--data", str(table)]
    assert main(["verify", str(out), *options]) == 0
    assert "frozen model - file: argmax agreement 1.000000" in capsys.readouterr().out
    assert main(["inspect", str(out)]) == 0
    assert "cut by the rules 'wordpunct'; no vocabulary" in capsys.readouterr().out
