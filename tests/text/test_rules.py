"""The token rules against tokenizers written by hand, character by character."""

import re
import subprocess
import sys

import numpy as np
import pytest

from kerascompact.text.rules import IN_FILES, RULES, SPACES, Rules, named, tokenize

SPACE = "\t\n\v\f\r "
ASCII = "".join(map(chr, range(128)))


def wordpunct_by_hand(text: str) -> list[str]:
    """Runs of one kind of character, with no regular expression."""

    def kind(character: str) -> str:
        if character in SPACE:
            return "space"
        word = character >= "\x80" or character == "_" or (character.isalnum())
        return "word" if word else "punctuation"

    tokens: list[str] = []
    before = "space"
    for character in text:
        now = kind(character)
        if now != "space":
            if now == before:
                tokens[-1] += character
            else:
                tokens.append(character)
        before = now
    return ["".join(c.lower() if "A" <= c <= "Z" else c for c in token) for token in tokens]


def random_texts(count: int, alphabet: str, seed: int) -> list[str]:
    generator = np.random.default_rng(seed)
    return [
        "".join(generator.choice(list(alphabet), size=generator.integers(0, 40)))
        for _ in range(count)
    ]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", []),
        (" \t\r\n ", []),
        ("Hello, World!", ["hello", ",", "world", "!"]),
        ("don't", ["don", "'", "t"]),
        ("wait... what?!", ["wait", "...", "what", "?!"]),
        ("a_b 3.14", ["a_b", "3", ".", "14"]),
        ("great<br /><br />film", ["great", "<", "br", "/><", "br", "/>", "film"]),
        ("\\1 \\g<1>", ["\\", "1", "\\", "g", "<", "1", ">"]),
        ("a\x00b", ["a", "\x00", "b"]),
        ("a\u00a0b \u2014 \u201cx\u201d", ["a\u00a0b", "\u2014", "\u201cx\u201d"]),
        ("\u0130\u0131I \u00c9", ["\u0130\u0131i", "\u00c9"]),  # only A-Z change case
        ("\u65e5\u672c\U0001f600!", ["\u65e5\u672c\U0001f600", "!"]),
        ("a\x1cb\x85c", ["a", "\x1c", "b\x85c"]),
    ],
)
def test_wordpunct(text, tokens):
    assert tokenize(text) == tokens == wordpunct_by_hand(text)


def test_wordpunct_equals_the_hand_written_one_on_random_text():
    for text in random_texts(500, ASCII + "\u00e9\u00a0\u2014\u3000\U0001f600", seed=1):
        assert tokenize(text) == wordpunct_by_hand(text), repr(text)


def test_wordpunct_is_the_nltk_pattern_on_ascii():
    # U+001C to U+001F are white space to Python's \s and therefore to NLTK
    alphabet = "".join(c for c in ASCII if not "\x1c" <= c <= "\x1f")
    for text in random_texts(500, alphabet, seed=2):
        assert tokenize(text) == re.findall(r"\w+|[^\w\s]+", text.lower(), re.ASCII)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("It's what I've (never) seen, isn't it?", None),
        ("they'RE", ["they", "'re"]),
        ("we'd we'll", ["we", "'d", "we", "'ll"]),
        ("rock & roll_over", ["rock", "roll", "over"]),
        ("caf\u00e9\u65e5x", ["caf", "x"]),
        ("`a' 'b'", ["`a'", "'b'"]),
        ("!!?", ["!", "!", "?"]),
    ],
)
def test_kim(text, tokens):
    if tokens is None:
        tokens = ["it", "'s", "what", "i", "'ve", "(", "never", ")", "seen", ","]
        tokens += ["is", "n't", "it", "?"]
    assert tokenize(text, rules="kim") == tokens


def test_whitespace_only_splits():
    assert tokenize("<unk> N\u00a0Y\v,", rules="whitespace") == ["<unk>", "N\u00a0Y", ","]


@pytest.mark.parametrize("rules", IN_FILES)
def test_bytes_give_the_same_tokens_as_characters(rules):
    """What a phone does: the same patterns on UTF-8 bytes."""
    for text in random_texts(300, ASCII + "\u00e9\u0130\u00a0\u2014\u65e5\U0001f600", seed=3):
        data = text.encode()
        if RULES[rules].lower:
            data = data.lower()  # bytes.lower() is ASCII only
        if RULES[rules].characters:
            data = re.sub(rb"([\xc0-\xff][\x80-\xbf]*)", rb" \1 ", data)
        for pattern, replacement in RULES[rules].substitutions:
            data = re.sub(pattern.encode(), replacement.encode(), data)
        tokens = [token for token in re.split(SPACES.encode(), data) if token]
        tokens = [token.decode() for token in tokens]
        if RULES[rules].pairs:
            tokens = pairs_by_hand(tokens)
        assert tokens == tokenize(text, rules), repr(text)


def pairs_by_hand(words: list[str]) -> list[str]:
    found = []
    for place, word in enumerate(words):
        if place:
            found.append(words[place - 1] + " " + word)
        found.append(word)
    return found


def test_pairs():
    assert tokenize("", "wordpunct_pairs") == tokenize(" ", "wordpunct_pairs") == []
    assert tokenize("Up", "wordpunct_pairs") == ["up"]
    found = tokenize("Don't!", "wordpunct_pairs")
    assert found == ["don", "don '", "'", "' t", "t", "t !", "!"]


def test_characters():
    text = "\u6253\u5f00WiFi 5G\uff0ccaf\u00e9!\u0e44\u0e17\u0e22"
    whole = ["打", "开", "wifi", "5g", "，", "caf", "é", "!", "ไ", "ท", "ย"]
    assert tokenize(text, "characters") == whole
    assert tokenize(text, "characters_pairs") == pairs_by_hand(whole)


def test_tokens_again_are_tokens():
    for text in random_texts(200, ASCII, seed=4):
        tokens = tokenize(text)
        assert tokenize(" ".join(tokens)) == tokens


def test_named():
    assert named("kim") is RULES["kim"]
    assert isinstance(named("kim"), Rules)
    names = ["wordpunct", "wordpunct_pairs", "characters", "characters_pairs"]
    assert list(RULES) == [*names, "kim", "whitespace", "mediapipe", "mediapipe_bert"]


@pytest.mark.parametrize("rules", ["nltk", None, 3, RULES["kim"]])
def test_rejects_rules(rules):
    with pytest.raises(ValueError, match="`rules` must be one of 'wordpunct', 'wordpunct_pairs', "):
        tokenize("a", rules=rules)


@pytest.mark.parametrize("text", [b"a", None, 3, ["a"]])
def test_rejects_text(text):
    with pytest.raises(ValueError, match="`text` must be a str. Received: text="):
        tokenize(text)


def test_imports_neither_tensorflow_nor_keras():
    code = (
        "import sys, kerascompact.text as text, kerascompact.datasets;"
        "text.Vocabulary.build(['a b']).encode('a');"
        "print([m for m in ('tensorflow', 'keras', 'tensorflow_text') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["wordpunct", "characters"])
def test_one_pattern_finds_what_substitution_and_splitting_find(name):
    found, random = RULES[name], np.random.default_rng(0)
    letters = [*map(chr, range(256)), *"\u65e5\u672c\u00e9\u3000\u2028\udc80\udcff\u0130\u0131"]
    letters += list("ab '.,!_ \t\n") * 10
    (((pattern, replacement),), tokens) = found.substitutions, re.compile(r"[^\t\n\v\f\r ]+")
    for number, size in enumerate(random.integers(0, 40, 2000)):
        text = "".join(random.choice(letters if number % 4 else list("aZ09  "), size))
        lower = "".join(c.lower() if "A" <= c <= "Z" else c for c in text)
        if found.characters:
            lower = re.sub(r"([^\x00-\x7f][\udc80-\udcbf]*)", r" \1 ", lower)
        assert found.tokens(text) == tokens.findall(re.sub(pattern, replacement, lower))


def test_a_substitution_of_ones_own_is_what_re_makes_of_it():
    for pattern, text in (("([0-9 ]+)", "x1 2y"), (r"x(y)", "axyb xy")):
        wanted = re.sub(pattern, r" \1 ", text).split()
        assert Rules("own", False, ((pattern, r" \1 "),)).tokens(text) == wanted
