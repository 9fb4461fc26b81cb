import subprocess
import sys

import numpy as np
import pytest

from kerascompact.core.projection import Projection
from kerascompact.text.ngrams import ngram_hashes, projection_bits, word_bytes

MASK = 0xFFFFFFFF
HOSTILE = ["king", "kingg", "King", "", "a", "z" * 300, "caf\u00e9", "\U0001f600\u4e2d", "\x02\x03"]


def mix(number):
    """MurmurHash3's end, in Python's whole numbers."""
    number ^= number >> 16
    number = number * 0x85EBCA6B & MASK
    number ^= number >> 13
    number = number * 0xC2B2AE35 & MASK
    return number ^ number >> 16


def features(word, projection):
    """Hashes of a word's features, one by one, from the definition."""
    data = word.encode() if isinstance(word, str) else word
    data = data[: projection.max_word_bytes]
    data = data.lower() if projection.lower else data  # bytes.lower is ASCII's
    if not data:
        return []
    data = b"\x02" + data + b"\x03" if projection.boundaries else data
    found = []
    for n in range(projection.ngrams[0], projection.ngrams[1] + 1):
        for start in range(len(data) - n + 1):
            rolling = 0
            for place, byte in enumerate(data[start : start + n], 1):
                rolling = (rolling * 0x9E3779B1 + byte + place * 0x7F4A7C15) & MASK
            found.append(mix(rolling))
    for gap in range(1, projection.max_gap + 1):
        for first, second in zip(data, data[gap + 1 :], strict=False):
            rolling = (first + 0x7F4A7C15) * 0x9E3779B1 + second + 256 * gap + 2 * 0x7F4A7C15
            found.append(mix(rolling & MASK))
    return found


def bits_by_hand(hashes, projection):
    """Bits of features, in Python's whole numbers."""
    size = projection.num_projections * projection.projection_dim
    short = max(n for n in range(1, size + 1) if n * n <= size and size % n == 0)
    long = size // short

    def product(hashed, index):
        factor = mix((index + 1 + projection.seed * 0x7F4A7C15) & MASK) | 1
        found = hashed * factor * 256 & MASK
        return found - 2**32 if found >= 2**31 else found

    return [
        int(
            sum(
                (product(hashed, one) >> 24) * (1 if product(hashed, long + two) > 0 else -1)
                for hashed in hashes
            )
            > 0
        )
        for one in range(long)
        for two in range(short)
    ]


SETTINGS = [
    Projection(4, 5),
    Projection(4, 5, ngrams=(2, 3), max_gap=2, seed=7),
    Projection(4, 5, ngrams=(3, 3), boundaries=False, lower=False, max_word_bytes=6),
    Projection(4, 5, ngrams=(9, 16), max_gap=3, boundaries=False),
]


@pytest.mark.parametrize("projection", SETTINGS)
def test_is_the_definition(projection):
    hashes, counts = ngram_hashes(HOSTILE, projection)
    by_word = np.split(hashes, np.cumsum(counts)[:-1])
    expected = [features(word, projection) for word in HOSTILE]
    assert [sorted(some.tolist()) for some in by_word] == [sorted(some) for some in expected]
    bits = projection_bits(HOSTILE, projection)
    assert bits.dtype == np.uint8
    assert bits.tolist() == [bits_by_hand(some, projection) for some in expected]
    whole = projection_bits(HOSTILE, projection, together=True)
    assert whole.tolist() == bits_by_hand(sum(expected, []), projection)


def test_does_not_depend_on_the_other_words():
    words = [f"word{number}" * (number % 5) for number in range(300)]
    alone = np.concatenate([projection_bits([word]) for word in words])
    np.testing.assert_array_equal(projection_bits(words), alone)
    np.testing.assert_array_equal(projection_bits([w.encode() for w in words]), alone)


def test_nothing_has_bits_of_nothing():
    assert projection_bits([]).shape == (0, 1120)
    assert projection_bits([], together=True).tolist() == [0] * 1120
    assert not projection_bits(["", b""]).any()
    assert projection_bits([b"\xff\xfe"]).any()  # bytes need not be text


def test_folds_ascii_only_and_cuts():
    one, other, german = projection_bits(["KING", "king", "\u00c4rger"])
    np.testing.assert_array_equal(one, other)
    assert np.any(german != projection_bits(["\u00e4rger"])[0])
    long = "pneumonoultramicroscopicsilicovolcanoconiosis"
    whole, cut, shorter = projection_bits([long, long[:32], long[:31]])
    np.testing.assert_array_equal(whole, cut)
    assert np.any(shorter != cut)


def test_refuses_what_is_no_word():
    assert [part.tolist() for part in word_bytes(["ab", b"\x00"])] == [[97, 98, 0], [2, 1]]
    for bad in ("king", b"king", None, 3):
        with pytest.raises(ValueError, match="`words` must be a list of str or bytes"):
            projection_bits(bad)
    with pytest.raises(ValueError, match=r"`words\[1\]` must be a str or bytes"):
        projection_bits(["a", 3])
    with pytest.raises(ValueError, match=r"`words\[0\]` must be a str that UTF-8 can hold"):
        projection_bits(["\ud800"])


@pytest.mark.slow
def test_needs_no_tensorflow():
    code = "import sys, kerascompact.text.ngrams; sys.exit('tensorflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
