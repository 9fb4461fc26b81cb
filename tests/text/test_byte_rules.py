"""Tokens by tables over bytes, against the rules on characters."""

import numpy as np
import pytest

from kerascompact.core.byte_rules import ALONE, JOINED
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.rules import IN_FILES, RULES, Rules

WORDS = [name for name in IN_FILES if not RULES[name].pairs]  # bytes are cut into words
PIECES = [
    *map(chr, range(128)),
    *"aZ_'`!? \n\t\0",
    *["'s", "'ve", "n't", "'re", "'d", "'ll", "'LL", "n", "'", "t", "l", "e"],
    *["é", "\u0130", "日本", "\U0001f600", "\u00a0", "\ufeff", "\udcff", "\x85"],
]


def cut(data, tables):
    """Tokens of bytes, one byte after the other, by the definition in `ByteRules`."""
    tokens, before = [], 0
    folded = bytes(int(tables.folding[byte]) for byte in data)
    for place, byte in enumerate(folded):
        kind = tables.kinds[byte]
        ending = any(folded.startswith(one, place) for one in tables.endings)
        differs = before < JOINED if kind == JOINED else kind != before
        if kind and (differs or kind >= ALONE or ending):
            tokens.append(b"")
        if kind:
            tokens[-1] += bytes([byte])
        before = kind
    return tokens


def random_texts(count, seed):
    random = np.random.default_rng(seed)
    return ["".join(random.choice(PIECES, random.integers(0, 30))) for _ in range(count)]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", WORDS)
def test_equals_the_rules_on_random_text(name):
    """Bytes that are no UTF-8 too, which Python reads as lone surrogates."""
    tables = byte_rules(name)
    for text in random_texts(3000, seed=1):
        found = cut(text.encode("utf-8", "surrogateescape"), tables)
        decoded = [token.decode("utf-8", "surrogateescape") for token in found]
        assert decoded == RULES[name].tokens(text), repr(text)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WORDS)
def test_any_bytes_are_a_text(name):
    """Every pair of bytes: UTF-8 read with `surrogateescape` is cut where the bytes are."""
    tables = byte_rules(name)
    for one in range(256):
        data = b"".join(bytes([one, other, 32]) for other in range(256))
        text = data.decode("utf-8", "surrogateescape")
        expected = [t.encode("utf-8", "surrogateescape") for t in RULES[name].tokens(text)]
        assert cut(data, tables) == expected


def test_rules_of_ones_own():
    rules = Rules("own", lower=False, substitutions=((r"[#]", " "), (r"([0-9]+)", r" \1 ")))
    tables = byte_rules(rules)
    for text in random_texts(500, seed=2):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
        found = cut(text.encode("utf-8", "surrogateescape"), tables)
        assert [t.decode("utf-8", "surrogateescape") for t in found] == rules.tokens(text)


@pytest.mark.parametrize(
    "substitution",
    [
        (r"ab", " "),  # more than one character
        (r"[a-c]+", r" \1 "),  # no group
        (r"([^a]+)", r" \1 "),  # runs over white space
        (r"([\u00e9])", r" \1 "),  # is two bytes
        (r"[a]", "b"),
        (r"('s|s)", r" \1"),  # one inside the other
        (r"(a.|b)", r" \1"),
    ],
)
def test_refuses_what_tables_cannot_do(substitution):
    with pytest.raises(ValueError, match="`rules` must be a space in place of a class of charac"):
        byte_rules(Rules("own", lower=True, substitutions=(substitution,)))


def test_refuses_marks_that_cut_endings():
    rules = Rules("own", True, (("('s)", r" \1"), ("([']+)", r" \1 ")))
    with pytest.raises(ValueError, match="`rules` must be a space"):
        byte_rules(rules)
    with pytest.raises(ValueError, match="`rules` must be the name of token rules, or"):
        byte_rules(3)
    with pytest.raises(ValueError, match="`rules` must be one of 'wordpunct'"):
        byte_rules("nltk")
