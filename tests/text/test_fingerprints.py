"""Fingerprints of words against Python integers, and the index in which they are found."""

import numpy as np
import pytest

from kerascompact.text import fingerprints as module
from kerascompact.text.fingerprints import SEEDS, estimate, fingerprints, index


def fmix(h):
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return h ^ h >> 16


def by_hand(word, seed):
    places = enumerate(word)
    step = 0x7F4A7C15 * seed
    total = sum(fmix(((256 * i + c) * 0x9E3779B1 + step) % 2**32) for i, c in places) % 2**32
    return total - 2**32 if total >= 2**31 else total


WORDS = ["", "a", "b", "ab", "ba", "\x00", "\x00\x00", "caf\u00e9", "\U0001f600", "x" * 100_000]


@pytest.mark.parametrize("seed", [0, 1, 127, 10**6])
def test_equals_python_integers(seed):
    words = [word.encode() for word in WORDS]
    assert fingerprints(words, seed).tolist() == [by_hand(word, seed) for word in words]
    assert fingerprints([], seed).shape == (0,)


def test_of_pairs_equals_python_integers():
    pairs = [("a", "b"), ("b", "a"), ("caf\u00e9", "\x00"), ("x" * 100, "ab")]
    found = fingerprints([*(" ".join(pair).encode() for pair in pairs), b"ab"], 7)
    wanted = [by_hand(a.encode(), 7) * 0x9E3779B1 + by_hand(b.encode(), 7) for a, b in pairs]
    assert (found[:-1].astype(np.int64) % 2**32).tolist() == [number % 2**32 for number in wanted]
    assert found[-1] == by_hand(b"ab", 7) and len(set(found)) == 5


@pytest.mark.few(2)
@pytest.mark.parametrize("count", [1, 2, 3, 1000, 65_535, 65_536, 70_000])
def test_every_word_is_in_its_window(count):
    words = [f"w{number}" for number in range(count)]
    found = index(words)
    encoded = [words[number].encode() for number in found.order]
    assert found.table.tolist() == fingerprints(encoded, found.seed).tolist()
    assert np.all(np.diff(found.table.astype(np.int64)) > 0)
    assert sorted(found.order) == list(range(count))
    low = np.clip(estimate(found.table, count) - found.below, 0, count - found.window)
    place = np.arange(count)
    assert np.all((low <= place) & (place < low + found.window))
    # 70,000 points of [0, 1] stray from where they would lie evenly by 0.006 once in 100 draws
    assert found.window <= 2 + 2 * 1.7 * np.sqrt(count) + 2 * count / 2**15


def test_estimate_never_overflows():
    ends = np.array([-(2**31), -1, 0, 2**31 - 1])
    for count in (1, 2, 3, 2**15, 2**16 - 1, 2**16, 2**20, 2**24):
        found = estimate(ends, count)
        assert found[0] >= -1 and found[-1] <= count
        bits = module.estimate_bits(count)
        assert 2 ** (bits - 1) * count < 2**31


def test_no_known_word_has_a_fingerprint_of_0(monkeypatch):
    """It would be taken for a place without a word."""

    def zero_with_two_seeds(words, seed=0):
        return np.arange(len(words), dtype=np.int32) - (2 if seed < 3 else 9)

    monkeypatch.setattr(module, "fingerprints", zero_with_two_seeds)
    found = index(["a", "b", "c", "d"])
    assert found.seed == 3 and found.table.all()


def test_no_word_of_one_byte_has_a_fingerprint_of_0():
    """Seed 0 would give it to a NUL; a longer word has it once in 2**32."""
    every = [bytes([byte]) for byte in range(256)]
    assert fingerprints(every[:1], 0).tolist() == [0]
    assert all(fingerprints(every, seed).all() for seed in range(1, 2 * SEEDS + 1))


def test_words_that_meet_take_another_seed(monkeypatch):
    real = fingerprints

    def meeting(words, seed=0):
        values = real(words, seed)
        return np.zeros_like(values) if seed < 3 else values

    monkeypatch.setattr(module, "fingerprints", meeting)
    assert index(["a", "b"]).seed == 3


def test_refuses_words_that_always_meet():
    with pytest.raises(ValueError, match=f"3 words; with each of {SEEDS} seeds two of them meet"):
        index(["a", "b", "a"])
