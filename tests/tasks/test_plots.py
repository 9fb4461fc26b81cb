"""The picture of accuracy against bytes."""

import subprocess
import sys

import pytest

from kerascompact.tasks.plots import accuracy_against_bytes, accuracy_against_entries

pytest.importorskip("matplotlib")
ROWS = [
    {"method": "standard", "file_bytes": 400_000, "file_accuracy": 0.905},
    {"method": "mixture", "file_bytes": 60_000, "file_accuracy": 0.9, "spread": 0.004},
    {"method": "mixture", "file_bytes": 30_000, "file_accuracy": 0.87, "spread": None},
    {"method": "another", "file_bytes": 30_000, "file_accuracy": 0.8},
]


def test_writes_a_picture(tmp_path):
    path = accuracy_against_bytes(ROWS, tmp_path / "new" / "a.png", "title")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [file.name for file in path.parent.iterdir()] == ["a.png"]


def test_shows_methods_sizes_and_accuracies(tmp_path):
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none"}):  # texts stay texts
        picture = accuracy_against_bytes(ROWS, tmp_path / "a.svg", "Intents").read_text()
    for word in ("Intents", "SE", "ME", "another", "90.5 %", "file, KiB (log scale)", ">64<"):
        assert word in picture, word


def test_a_title_with_dollars_is_no_formula(tmp_path):
    path = accuracy_against_bytes(ROWS, tmp_path / "a.png", "p$x_$.csv")
    assert path.exists()


def test_one_row_is_enough(tmp_path):
    accuracy_against_bytes(ROWS[:1], tmp_path / "a.png", "title")


def test_draws_accuracy_over_entries(tmp_path):
    import matplotlib

    rows = [
        {"method": kind, "entries": entries, "accuracy": 0.9 + entries / 300, "spread": 0.002}
        for kind in ("dense", "sparse")
        for entries in (20, 3, 10)
    ]
    with matplotlib.rc_context({"svg.fonttype": "none"}):  # texts stay texts
        picture = accuracy_against_entries(rows, tmp_path / "a.svg", "Tags").read_text()
    for word in ("Tags", "dense", "sparse", "trained entries of a word", ">15", "test accuracy"):
        assert word in picture, word
    with pytest.raises(ValueError, match="`entries` must be a finite number > 0"):
        accuracy_against_entries([{"accuracy": 1.0}], tmp_path / "b.svg", "Tags")
    with pytest.raises(ValueError, match="`suffix of path` must be one of '.png'"):
        accuracy_against_entries(rows, tmp_path / "b.txt", "Tags")


@pytest.mark.parametrize(
    ("rows", "name", "message"),
    [
        ([], "a.png", "`rows` must be a list of at least one row"),
        ([{"method": "standard"}], "a.png", "`file_bytes` must be a finite number > 0"),
        ([{"file_bytes": 1, "file_accuracy": None}], "a.png", "`file_accuracy` must be a finite"),
        (ROWS, "a.txt", "`suffix of path` must be one of '.png'"),
    ],
)
def test_refuses_rows_and_names(rows, name, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        accuracy_against_bytes(rows, tmp_path / name, "title")
    assert not (tmp_path / name).exists()


def test_without_matplotlib_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib.figure", raising=False)
    with pytest.raises(ImportError, match=r"kerascompact\[plot\]"):
        accuracy_against_bytes(ROWS, tmp_path / "a.png", "title")


def test_the_module_itself_needs_no_matplotlib():
    code = "import sys, kerascompact.tasks.plots; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False\n", done.stderr
