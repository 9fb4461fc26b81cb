"""Areas are bytes, rectangles do not overlap, and the picture is one."""

import numpy as np
import pytest

from export_models import file_of
from kerascompact import tools
from kerascompact.tools import treemap


@pytest.fixture(scope="module")
def data():
    return file_of("mean")


@pytest.mark.parametrize("sizes", [[1], [6, 6, 4, 3, 2, 2, 1], [1000, 1, 1], [5] * 30])
@pytest.mark.parametrize(("width", "height"), [(6, 4), (4, 6), (100, 1)])
def test_areas_are_shares_and_fill_the_whole(sizes, width, height):
    places = treemap.squarified(sizes, width, height)
    areas = [place.width * place.height for place in places]
    np.testing.assert_allclose(areas, np.array(sizes) * width * height / sum(sizes))
    for place in places:
        assert place.x >= -1e-9 and place.y >= -1e-9
        assert place.x + place.width <= width + 1e-9 and place.y + place.height <= height + 1e-9
    # points of a fine grid, each in one rectangle
    xs, ys = np.meshgrid((np.arange(97) + 0.5) / 97 * width, (np.arange(89) + 0.5) / 89 * height)
    inside = sum(
        ((x < xs) & (xs < x + w) & (y < ys) & (ys < y + h)).astype(int) for x, y, w, h in places
    )
    assert inside.max() == 1 and np.mean(inside) > 0.9


def test_the_example_of_the_paper():
    """Figure 4: 6 6 4 3 2 2 1 in 6 x 4; the first column is the two of 6, each 3 x 2."""
    places = treemap.squarified([6, 6, 4, 3, 2, 2, 1], 6, 4)
    np.testing.assert_allclose(places[0], (0, 0, 3, 2))
    np.testing.assert_allclose(places[1], (0, 2, 3, 2))
    # then 4 and 3 beside each other in a row of 7 / 3
    np.testing.assert_allclose(places[2], (3, 0, 3 * 4 / 7, 7 / 3))
    np.testing.assert_allclose(places[3], (3 + 3 * 4 / 7, 0, 3 * 3 / 7, 7 / 3))


@pytest.mark.parametrize("sizes", [[1, 0], [-1], [float("nan")]])
def test_refuses_sizes(sizes):
    with pytest.raises(ValueError, match="`sizes` must be positive numbers"):
        treemap.squarified(sizes, 1, 1)
    assert treemap.squarified([], 1, 1) == []


def test_pieces_have_all_bytes(data):
    found = tools.inspect(data)
    pieces = treemap.pieces(found)
    assert sum(piece.num_bytes for piece in pieces) == len(data)
    kinds = {piece.colour: piece.num_bytes for piece in pieces}
    assert kinds["metadata"] == found.metadata_bytes and kinds["graph"] == found.overhead
    sizes = [piece.num_bytes for piece in pieces]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.few(1)
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_draws_the_same_picture_twice(data, tmp_path, ending):
    starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    first = treemap.draw(data, tmp_path / f"a.{ending}").read_bytes()
    assert first.startswith(starts[ending]) and len(first) > 1000
    if ending != "svg":  # its clip paths have random names
        assert treemap.draw(data, str(tmp_path / f"b.{ending}")).read_bytes() == first


def test_names_what_it_draws(data, tmp_path):
    (tmp_path / "model.tflite").write_bytes(data)
    # glyphs are drawn as paths; their text stays in comments
    svg = treemap.draw(tmp_path / "model.tflite", tmp_path / "a.svg").read_text()
    assert f"model.tflite: {len(data):,} bytes" in svg
    assert "metadata" in svg and "operators" in svg


def test_refuses_other_endings_and_files(data, tmp_path):
    with pytest.raises(ValueError, match="`picture` must be one of 'png', 'svg', 'pdf'"):
        treemap.draw(data, tmp_path / "a.gif")
    with pytest.raises(ValueError, match="`flatbuffer` must be a TFLite model"):
        treemap.draw(b"", tmp_path / "a.png")
    assert list(tmp_path.iterdir()) == []


def test_says_which_extra_it_needs(data, tmp_path, monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")

    monkeypatch.setattr("kerascompact.core.extras.importlib.import_module", missing)
    with pytest.raises(ImportError, match=r"pip install 'kerascompact\[plot\]'"):
        treemap.draw(data, tmp_path / "a.png")


def test_a_name_may_have_any_letters(data, tmp_path):
    path = tmp_path / "a$^$.tflite"
    path.write_bytes(data)
    assert treemap.draw(path, tmp_path / "map.png").exists()
