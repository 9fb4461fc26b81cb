"""Nearest words, against cosines computed one by one."""

import numpy as np
import pytest

from kerascompact.training.neighbours import NearestWords

WORDS = [f"w{n}" for n in range(30)]
VECTORS = np.random.default_rng(0).normal(size=(30, 5))


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_neighbours_are_those_of_the_largest_cosines():
    queries = np.random.default_rng(1).normal(size=(4, 5))
    asked = ["w3", "new", "other", "w7"]
    for word, query, found in zip(
        asked, queries, NearestWords(WORDS, VECTORS).of(asked, queries, top=4), strict=True
    ):
        expected = sorted(
            (w for w in WORDS if w != word), key=lambda w: -cosine(VECTORS[WORDS.index(w)], query)
        )
        assert [near for near, _ in found] == expected[:4]
        for near, value in found:
            # rounded to four digits
            assert value == pytest.approx(cosine(VECTORS[WORDS.index(near)], query), abs=6e-5)


def test_a_word_is_no_neighbour_of_itself_but_of_its_misspelling():
    nearest = NearestWords(WORDS, VECTORS)
    (own,), (other,) = (nearest.of([w], VECTORS[3:4], top=2) for w in ("w3", "w33"))
    assert own[0][0] != "w3" and other[0] == ("w3", 1.0) and len(own) == len(other) == 2


def test_a_word_that_is_listed_twice_is_found_once():
    nearest = NearestWords(["a", "a", "b", "a", "b", "c"], VECTORS[[3, 3, 4, 3, 4, 5]])
    (found,) = nearest.of(["a"], VECTORS[3:4], top=2)
    expected = {w: cosine(VECTORS[n], VECTORS[3]) for w, n in (("b", 4), ("c", 5))}
    assert dict(found) == pytest.approx(expected, abs=6e-5)


def test_few_words_and_vectors_of_zeros():
    nearest = NearestWords(["a", "b"], np.array([[0.0, 0.0], [1.0, 0.0]]))
    assert nearest.of(["c"], np.array([[2.0, 0.0]]), top=9) == [[("b", 1.0), ("a", 0.0)]]
    assert nearest.of([], np.zeros((0, 2))) == []


def test_rejects():
    with pytest.raises(ValueError, match=r"`vectors` must be 30 vectors \(V, d\)"):
        NearestWords(WORDS, VECTORS[1:])
    with pytest.raises(ValueError, match="`vectors` must hold finite numbers"):
        NearestWords(["a"], np.array([[np.nan]]))
    nearest = NearestWords(WORDS, VECTORS)
    with pytest.raises(ValueError, match="`vectors` must be 1 vectors of 5"):
        nearest.of(["a"], np.zeros((1, 4)))
    with pytest.raises(ValueError, match="`top` must be an integer >= 1"):
        nearest.of(["a"], np.zeros((1, 5)), top=0)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_any_length_has_a_direction(scale):
    near = NearestWords(WORDS, scale * VECTORS).of(["new"], scale * VECTORS[3:4], top=1)
    assert near == [[("w3", 1.0)]]
