import pytest

from kerascompact.text.characters import character_codes

WORDS = ["the", "<unk>", "Zürich", "a", "theatre"]


def test_codes_spell_the_first_characters():
    codes, alphabet = character_codes(WORDS, 4)
    spelt = ["".join(alphabet[k] for k in code) for code in codes]
    assert spelt == ["the", "<unk", "Züri", "a", "thea"]
    assert codes.shape == (5, 4) and codes.dtype == "int32"
    assert alphabet[0] == "" and codes[3].tolist() == [alphabet.index("a"), 0, 0, 0]


def test_alphabet_holds_each_character_that_is_used_once():
    _, alphabet = character_codes(WORDS, 2)
    assert alphabet == ["", "<", "Z", "a", "h", "t", "u", "ü"]


@pytest.mark.parametrize("words", [[], ["a", ""], [1]])
def test_refuses_empty_words(words):
    with pytest.raises(ValueError, match="`words` must be a list of non-empty strings"):
        character_codes(words, 3)


def test_refuses_a_code_length_of_zero():
    with pytest.raises(ValueError, match="`code_length` must be an integer >= 1"):
        character_codes(WORDS, 0)
