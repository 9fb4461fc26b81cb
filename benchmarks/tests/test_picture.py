"""The picture of the README shows the committed rows."""

import re

import pytest

from benchmarks.lib import results
from benchmarks.product import picture


def test_points_are_means_of_the_rows():
    found = picture.points("clinc150")
    assert list(found) == ["kerascompact", "fastText, a grid", "fastText, its own search"]
    assert [len(group) for group in found.values()] == [4, 4, 2]
    rows = [
        row
        for row in results.rows("fasttext_grid")
        if (row["spec"]["dataset"], row["spec"]["budget"]) == ("clinc150", 32)
    ]
    size, accuracy, deviation = found["fastText, a grid"][1]
    assert len(rows) == 3 and size == sum(row["bytes"] for row in rows) / 3 / 1024
    assert accuracy == pytest.approx(100 * sum(row["file_accuracy"] for row in rows) / 3)
    assert deviation == pytest.approx(0.36, abs=0.005)  # as its table prints it


def test_is_drawn_from_the_rows(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        assert picture.main(["--out", str(tmp_path / name)]) == 0
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn == (tmp_path / "b.svg").read_text()
    # The lines' coordinates, which another release of matplotlib may print with other styles.
    lines = [
        re.findall(r"[ML] [\d.]+ [\d.]+", text) for text in (drawn, picture.PICTURE.read_text())
    ]
    assert lines[0] == lines[1], "draw it anew: python -m benchmarks.product.picture"
