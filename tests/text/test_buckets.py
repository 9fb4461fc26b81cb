"""Ids by hash against hashes of tokens, one by one; the file, and every refusal."""

import numpy as np
import pytest

from hostile_texts import HOSTILE
from kerascompact.core.hash32 import GOLDEN, multiplier
from kerascompact.text import RULES, Buckets, token_hashes
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.rules import IN_FILES


def fingerprint(word, seed, units):
    """The hash of a word or a pair, in Python's integers."""
    if " " in word:
        first, second = word.split(" ")
        return (GOLDEN * fingerprint(first, seed, units) + fingerprint(second, seed, units)) % 2**32
    data = word.encode("utf-8", "surrogateescape")
    total = place = 0
    for byte in data:
        place += int(units[byte])
        number = signed(place * multiplier(seed))
        number ^= number >> 13
        total += number * (number >> 13)
    return total % 2**32


def signed(value):
    """The int32 of the same lower bits."""
    value %= 2**32
    return value - 2**32 * (value >= 2**31)


def bucket(word, size, seed, units):
    value = fingerprint(word, seed, units)
    return 1 + signed(value) % size


@pytest.mark.few(8)
@pytest.mark.parametrize("rules", IN_FILES)
@pytest.mark.parametrize(("size", "seed"), [(1, 1), (97, 2), (2**24, 5)])
def test_ids_are_the_hashes_of_tokens(rules, size, seed):
    made = Buckets(size, rules, seed)
    units = byte_rules(rules).without_nul.units
    texts = [text[:300] for text in HOSTILE]
    for text in texts:
        tokens = RULES[rules].tokens(text.replace("\0", " "))  # NUL is white space here
        wanted = [bucket(token, size, seed, units) for token in tokens]
        assert made.encode(text).tolist() == wanted
    rows = made.encode_all(texts, 9)
    assert rows.dtype == np.int32 and rows.shape == (len(texts), 9)
    for text, row in zip(texts, rows, strict=True):
        wanted = made.encode(text)[:9].tolist()
        assert row.tolist() == wanted + [0] * (9 - len(wanted)) == made.encode(text, 9).tolist()
    assert len(made) == size + 1 and rows.max() <= size


def test_many_texts_are_encoded_in_chunks(monkeypatch):
    made = Buckets(50, "wordpunct_pairs")
    texts = HOSTILE * 3
    at_once = made.encode_all(texts, 20)
    monkeypatch.setattr(token_hashes, "_CHUNK", 64)
    np.testing.assert_array_equal(made.encode_all(texts, 20), at_once)
    assert made.encode_all([], 4).shape == (0, 4)


def test_words_spread_evenly_and_by_seed():
    words = " ".join(f"w{number}" for number in range(20_000))
    counts = [np.bincount(Buckets(100, seed=seed).encode(words))[1:] for seed in (1, 2)]
    for found in counts:  # binomial of mean 200, standard deviation 14
        assert len(found) == 100 and found.min() > 130 and found.max() < 270
    assert (counts[0] != counts[1]).any()


def test_file_and_facts(tmp_path):
    made = Buckets(300, "wordpunct_pairs", seed=4)
    again = Buckets.load(made.save(tmp_path / "buckets.json"))
    assert again == made and hash(again) == hash(made) and again.sha256 == made.sha256
    assert Buckets(**made.get_config()) == made != Buckets(300, "wordpunct_pairs")
    assert made != "buckets" and made.num_bytes == 0
    assert repr(made) == "Buckets(num_buckets=300, rules='wordpunct_pairs', seed=4)"


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"{}", b'{"buckets": 3}', b'{"buckets": {"size": 3}}', b"\xff",
     b'{"buckets": {"num_buckets": 0}}', b"<pad>\twordpunct\t3\n<unk>\na\n"],
)  # fmt: skip
def test_files_that_are_none(content, tmp_path):
    path = tmp_path / "buckets.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"buckets\.json: not the JSON of a Buckets"):
        Buckets.load(path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"num_buckets": 0}, r"`num_buckets` must be an integer in \[1, 16777216\]"),
        ({"num_buckets": 2.5}, "`num_buckets` must be an integer in"),
        ({"rules": "nltk"}, "`rules` must be one of"),
        ({"seed": 0}, "`seed` must be an integer in"),
    ],
)
def test_refuses(config, message):
    with pytest.raises(ValueError, match=message):
        Buckets(**{"num_buckets": 5, **config})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda made: made.encode(b"a"), "`text` must be a str"),
        (lambda made: made.encode(b"a", 2), r"`texts\[0\]` must be a str"),
        (lambda made: made.encode("a\ud800"), "`text` must be a str that UTF-8 can hold"),
        (lambda made: made.encode("a", 0), "`sequence_length` must be an integer >= 1"),
        (lambda made: made.encode_all("a", 2), "`texts` must be a list of str"),
        (lambda made: made.encode_all(["a", "\ud800"], 2), r"`texts\[1\]` must be a str that"),
        (lambda made: made.encode_all(["a"], None), "`sequence_length` must be an integer >= 1"),
    ],
)  # fmt: skip
def test_refuses_texts(call, message):
    with pytest.raises(ValueError, match=message):
        call(Buckets(5))


def test_refuses_buckets_of_an_older_hash(tmp_path):
    path = tmp_path / "buckets.json"
    path.write_text('{"buckets": {"num_buckets": 9, "rules": "wordpunct", "seed": 1}}\n')
    with pytest.raises(ValueError, match="`hash` must be 2, since another hash puts words into"):
        Buckets.load(path)
