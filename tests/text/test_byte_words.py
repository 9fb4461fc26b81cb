"""Words cut from bytes in NumPy, against the rules' regular expressions."""

import numpy as np
import pytest

from hostile_texts import HOSTILE
from kerascompact.text import RULES, byte_words
from kerascompact.text.byte_rules import byte_rules

TEXTS = [*HOSTILE, b"\xff\xfe\x00 up \xc3".decode("utf-8", "surrogateescape"), "n't", "don'tn't 's"]


@pytest.mark.parametrize("rules", ["wordpunct", "characters", "kim", "whitespace"])
def test_cuts_where_the_rules_cut(rules):
    encoded = [byte_words.utf8("text", text) for text in TEXTS]
    words = byte_words.split(encoded, byte_rules(rules))
    wanted = [RULES[rules].tokens(text) for text in TEXTS]
    assert np.bincount(words.owners, minlength=len(TEXTS)).tolist() == [*map(len, wanted)]
    assert words.ranks.tolist() == [rank for tokens in wanted for rank in range(len(tokens))]
    tokens = [token.encode("utf-8", "surrogateescape") for some in wanted for token in some]
    for first, token in zip(words.first, tokens, strict=True):
        assert words.units[first : first + len(token)].tobytes() == token


@pytest.mark.parametrize("texts", [[], [b""], [b" ", b"\t\n"]])
def test_no_words(texts):
    words = byte_words.split(texts, byte_rules("wordpunct"))
    assert [len(part) for part in words[1:]] == [0, 0, 0]


def test_a_surrogate_that_stands_for_no_byte():
    with pytest.raises(ValueError, match="`text` must be a str that UTF-8 can hold"):
        byte_words.utf8("text", "a\ud800")
