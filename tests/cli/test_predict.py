"""`kerascompact predict`."""

import io
import subprocess
import sys

import pytest

from kerascompact.cli import main
from kerascompact.commands import predict


def test_prints_label_and_probability(trained, capsys):
    assert main(["predict", str(trained / "model.tflite"), "please increase the music"]) == 0
    shown = capsys.readouterr()
    label, probability = shown.out.rstrip("\n").split("\t")
    assert label in ("louder", "softer", "stop")
    assert 1 / 3 <= float(probability) <= 1
    assert shown.err == ""


def test_top_is_sorted_and_notes_go_to_stderr(trained, capsys):
    file = str(trained / "model.tflite")
    assert main(["predict", file, "xyzzy", "--top", "3"]) == 0
    shown = capsys.readouterr()
    cells = shown.out.rstrip("\n").split("\t")
    assert set(cells[::2]) == {"louder", "softer", "stop"}
    chances = [float(cell) for cell in cells[1::2]]
    assert chances == sorted(chances, reverse=True)
    assert sum(chances) == pytest.approx(1, abs=2e-4)  # printed to 4 digits
    assert shown.err == "kerascompact: note: no word of the text is in the vocabulary\n"


def test_names_a_signature_that_the_file_lacks(trained, fails):
    found = fails("predict", str(trained / "model.tflite"), "stop", "--signature", "other")
    assert "it has no signature 'other'" in found


def test_ten_thousand_characters(trained, capsys):
    assert main(["predict", str(trained / "model.tflite"), "please end " * 910]) == 0
    assert "note: text cut to its first 8 of 1820 tokens" in capsys.readouterr().err


class Stdin:
    def __init__(self, data):
        self.buffer = io.BytesIO(data)


def test_reads_lines_of_stdin(trained, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Stdin(b"please raise it\nplease halt\xc3\xa9"))
    assert main(["predict", str(trained / "model.tflite"), "-"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_ends_of_lines_are_no_part_of_a_text(monkeypatch):
    """A text of just `max_bytes` bytes would be said to be cut."""
    monkeypatch.setattr(sys, "stdin", Stdin(b"\xef\xbb\xbfhalt\r\nplease\nraise it"))
    assert [line for _, line in predict._lines()] == [b"halt", b"please", b"raise it"]


def test_a_byte_order_mark_is_no_part_of_the_first_word(trained, monkeypatch, capsys):
    printed = []
    for mark in (b"", b"\xef\xbb\xbf"):
        monkeypatch.setattr(sys, "stdin", Stdin(mark + b"halt\nplease"))
        assert main(["predict", str(trained / "model.tflite"), "-"]) == 0
        printed.append(capsys.readouterr())
    assert printed[0] == printed[1] and printed[0].err == ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"please\n\xff\n", "stdin, line 2: `text` must be valid UTF-8"),
        (b"please\n\n", "stdin, line 2: `text` has no token"),
    ],
)
def test_names_the_line_of_stdin(trained, data, message, monkeypatch, fails):
    monkeypatch.setattr(sys, "stdin", Stdin(data))
    assert message in fails("predict", trained / "model.tflite", "-")


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "`text` has no token"), (" \t", "`text` has no token"), ("a\udcff", "a bad byte at 1")],
)
def test_refuses_texts(trained, text, message, fails):
    assert message in fails("predict", trained / "model.tflite", text)


def test_refuses_files(trained, tmp_path, fails):
    data = (trained / "model.tflite").read_bytes()
    short = tmp_path / "short.tflite"
    short.write_bytes(data[: len(data) // 2])
    assert "short.tflite: `flatbuffer` must be a complete TFLite" in fails("predict", short, "a")
    foreign = tmp_path / "foreign.tflite"
    foreign.write_bytes(b"PK\3\4" + bytes(100))
    assert "foreign.tflite: `flatbuffer` must be a TFLite model" in fails("predict", foreign, "a")
    assert "No such file" in fails("predict", tmp_path / "none.tflite", "a")
    alone = tmp_path / "alone.tflite"
    alone.write_bytes(data)
    assert "There is no" in fails("predict", alone, "a")
    other = tmp_path / "other.txt"
    other.write_bytes(b"<pad>\twordpunct\t3\n<unk>\nplease\n")
    line = fails("predict", trained / "model.tflite", "a", "--vocabulary", other)
    assert "was trained with another vocabulary" in line
    assert "`top` must be an integer >= 1" in fails("predict", alone, "a", "--top", "0")


def test_imports_no_tensorflow_and_prints_only_its_lines(trained):
    code = (
        "import sys; from kerascompact.cli import main\n"
        "for command in (['predict', sys.argv[1], 'please halt'], ['inspect', sys.argv[1]]):\n"
        "    status = main(command)\n"
        "    heavy = {'tensorflow', 'keras', 'tensorflow_text'} & set(sys.modules)\n"
        "    print('status', status, sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(trained / "model.tflite")],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert lines.count("status 0 []") == 2 and lines[-1] == "status 0 []"
    assert done.stderr == ""
