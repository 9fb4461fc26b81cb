"""Words to ids: case, compounds, names of several ids."""

import pytest

from kerascompact.knowledge import word_graph

pytest.importorskip("scipy")

LEXICON = {"Turkey": ["country", "New_York"], "country": ["turkey"], "bird": ["TURKEY", "moa"]}
WORDS = ["<pad>", "turkey", "Turkey", "country", "bird", "new york"]


def test_names_are_compared_in_lower_case():
    graph = word_graph(WORDS, LEXICON.get)
    expected = {(1, 3), (2, 3), (1, 4), (2, 4), (2, 5)}
    assert {tuple(pair) for pair in graph.pairs().tolist()} == expected
    assert graph.num_objects == 6


def test_a_word_is_no_relation_of_its_own():
    assert word_graph(["a", "b"], lambda word: [word]).num_pairs == 0


@pytest.mark.parametrize("words", ["ab", [], None, ["a", 3]])
def test_refuses(words):
    with pytest.raises(ValueError, match=r"`words(\[1\])?` must be a"):
        word_graph(words, LEXICON.get)


def test_refuses_a_name_in_place_of_names():
    with pytest.raises(ValueError, match="`related\\('cat'\\)` must be a list of names, or None"):
        word_graph(["cat", "d"], {"cat": "dog"}.get)
