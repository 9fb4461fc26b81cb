"""Words per cluster and per code against a loop, and the picture's places."""

import sys

import numpy as np
import pytest

from kerascompact.text import Vocabulary
from kerascompact.training import plot_clusters, words_per_cluster, words_per_code

WORDS = [f"w{i}" for i in range(40)]
CLUSTERS = np.random.default_rng(0).integers(-1, 6, 40)


def test_lists_frequent_words_of_large_clusters_first():
    found = words_per_cluster(CLUSTERS, WORDS, top=3)
    members = {c: [w for w, of in zip(WORDS, CLUSTERS, strict=True) if of == c] for c in range(6)}
    sizes = [len(members[c]) for c in found]
    assert sizes == sorted(sizes, reverse=True) and set(found) == {c for c in members if members[c]}
    assert all(found[c] == members[c][:3] for c in found)


def test_leaves_out_empty_clusters_and_words_without_one():
    assert words_per_cluster(np.array([5, -1, 5, 2]), list("abcd")) == {5: ["a", "c"], 2: ["d"]}
    assert words_per_cluster(np.array([-1, -1]), list("ab")) == {}


def test_refuses_lists_that_do_not_fit():
    with pytest.raises(ValueError, match="`words` must be a list of 40 words, one per assignment"):
        words_per_cluster(CLUSTERS, WORDS[:-1])
    with pytest.raises(ValueError, match="`top` must be an integer >= 1"):
        words_per_cluster(CLUSTERS, WORDS, top=0)


CODES = np.random.default_rng(2).integers(0, 12, (40, 2)) // 4


def test_lists_the_words_of_each_code_in_the_order_of_codes():
    found = words_per_code(CODES, WORDS, top=3)
    members = {}
    for word, code in zip(WORDS, CODES.tolist(), strict=True):
        members.setdefault(tuple(code), []).append(word)
    expected = {"-".join(map(str, code)): members[code][:3] for code in sorted(members)}
    assert found == expected and list(found) == list(expected)


def test_codes_are_sorted_as_numbers():
    found = words_per_code(np.array([[10, 0], [9, 31], [9, 4]]), list("abc"))
    assert list(found.items()) == [("9-4", ["c"]), ("9-31", ["b"]), ("10-0", ["a"])]


def test_codes_take_a_vocabulary_and_refuse_what_does_not_fit():
    vocabulary = Vocabulary(["up", "week"])
    codes = np.arange(2 * len(vocabulary)).reshape(-1, 2)
    words = sum(words_per_code(codes, vocabulary).values(), [])
    assert words == [vocabulary.word_of(id) for id in range(len(vocabulary))]
    for bad in (CODES[:-1], CODES[:, 0]):
        with pytest.raises(ValueError, match="`words` must be a list of .* words, one per row"):
            words_per_code(bad, WORDS)
    with pytest.raises(ValueError, match="`top` must be an integer >= 1"):
        words_per_code(CODES, WORDS, top=0)


@pytest.mark.parametrize("width", [1, 2, 7])
def test_plot_puts_clusters_on_their_principal_axes(width):
    pytest.importorskip("matplotlib")
    codebook = np.random.default_rng(1).normal(size=(6, width))
    words = [f"${word}^$" for word in WORDS]  # no mathematics, which would not parse
    figure = plot_clusters(codebook, CLUSTERS, words)
    figure.canvas.draw()
    (axes,) = figure.axes
    places = np.asarray(axes.collections[0].get_offsets())
    assert places.shape == (len(set(CLUSTERS) - {-1}), 2)
    values = np.sort(np.linalg.eigvalsh(np.cov(codebook.T).reshape(width, width)))[::-1]
    variance = places.var(axis=0, ddof=1)  # of all six clusters: none of them is empty here
    np.testing.assert_allclose(variance, [*values[:2], 0][:2], rtol=1e-6, atol=1e-12)
    found = words_per_cluster(CLUSTERS, words, top=3)
    assert [text.get_text() for text in axes.texts] == [" ".join(ws) for ws in found.values()]
    sys.modules["matplotlib.pyplot"].close(figure)


def test_plot_refuses_vectors_that_are_not_finite():
    pytest.importorskip("matplotlib")
    with pytest.raises(ValueError, match="`codebook` must hold finite numbers only"):
        plot_clusters(np.full((6, 2), np.nan), CLUSTERS, WORDS)


def test_plot_says_how_to_install_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"matplotlib|pip install 'kerascompact\[plot\]'"):
        plot_clusters(np.zeros((6, 2)), CLUSTERS, WORDS)
