"""Pictures of lengths and of layers: the numbers of the paper's Figures 2 and 4."""

import re

import pytest

from benchmarks.sparseness import shapes


def test_lengths_are_those_of_figure_2():
    """A quarter of 44 k words has one entry, 7.6 % have ten or more, some 190 have all twenty."""
    words, entries = shapes.lengths(0.2, None)
    of = dict(zip(entries, words, strict=True))
    assert (of[1] - of[2]) / of[1] == pytest.approx(0.25, abs=0.002)
    assert of[10] / of[1] == pytest.approx(0.076, abs=0.0005) and abs(of[20] - 192) < 5
    for bins in (None, 10):
        words, entries = shapes.lengths(0.2, bins)
        shorter = [*entries[1:], 0]
        total = sum(n * (a - b) for n, a, b in zip(words, entries, shorter, strict=True))
        assert total == pytest.approx(0.2 * shapes.WIDTH * shapes.WORDS, abs=1)


def test_networks_are_those_of_figure_4():
    found = shapes.networks()
    assert [[part[1::2] for part in layer] for layer in found["dense"]] == [
        [(200, 575)],
        [(575, 575)],
        [(575, 200)],
    ]
    assert [part[1::2] for part in found["sparse"][2]] == [(675, 100)] * 2  # as printed there
    for dense, sparse in zip(found["dense"], found["sparse"], strict=True):
        assert shapes.parameters(sparse) == pytest.approx(shapes.parameters(dense), rel=0.002)
        read = {i for part in sparse for i in range(part.first_input, sum(part[:2]))}
        assert read == set(range(max(read) + 1))  # every input is read


def test_numbers_of_parameters_are_those_of_table_4():
    found = shapes.counts()
    assert [name for name, *_ in found][:3] == ["24.22 M, dense", "7.07 M, dense", "7.07 M, sparse"]
    for _, printed, count in found:  # of the smallest, windows are rounded to whole inputs
        assert count / 1e6 == pytest.approx(printed, abs=0.005)


def test_pictures_are_drawn_from_the_code(tmp_path):
    pytest.importorskip("matplotlib")
    assert shapes.main(["--out", str(tmp_path)]) == 0
    for name in shapes.PICTURES:
        # The coordinates, which another release of matplotlib may print with other styles.
        lines = [
            re.findall(r"[ML] [\d.]+ [\d.]+", (folder / name).read_text())
            for folder in (tmp_path, shapes.FOLDER)
        ]
        assert lines[0] == lines[1], "draw them anew: python -m benchmarks.sparseness.shapes"
