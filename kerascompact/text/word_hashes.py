"""Hashes of words that a file computes with few operators: those behind slots and buckets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kerascompact.core.byte_rules import ByteRules
from kerascompact.core.hash32 import GOLDEN, int32, mixed, multiplier
from kerascompact.text.byte_words import ByteWords

VERSION = 2  # of the hash: saved words of another one have other slots and buckets


def word_hashes(words: ByteWords, rules: ByteRules, seed: int) -> np.ndarray:
    """The hash of each word, int32 `(words,)`.

    `h = sum_i f(m (u_1 + ... + u_i))` over the bytes of a word: `u` are the numbers of its bytes,
    `ByteRules.units`, `m` an odd number made of the seed, and `f` is `core.hash32.mixed`, all in
    int32 that wraps. Sums of the first numbers are distinct, and tell the order of the bytes.

    Args:
        words: The words of some texts.
        rules: The token rules as tables.
        seed: Integer that selects the hash function.

    >>> from kerascompact.text import byte_words
    >>> from kerascompact.text.byte_rules import byte_rules
    >>> rules = byte_rules("wordpunct")
    >>> word_hashes(byte_words.split([b"up Up pu"], rules), rules, 1).tolist()
    [2067876364, 2067876364, 1198226756]
    """
    if not len(words.first):
        return np.zeros(0, np.int32)
    return _sums(rules.units[words.units], words.first, seed)


def of_list(words: Sequence[bytes], rules: ByteRules, seed: int) -> np.ndarray:
    """The hashes of words as bytes, int32 `(words,)`; a space separates the words of a pair.

    The hash of a pair is `0x9E3779B1 h(first) + h(second)`.

    >>> from kerascompact.text.byte_rules import byte_rules
    >>> of_list([b"up", b"pu"], byte_rules("wordpunct"), 1).tolist()
    [2067876364, 1198226756]
    """
    return of_joined(joined(words, rules), seed)


class Joined(NamedTuple):
    """Words as bytes behind each other, of which hashes of any seed are made.

    `units`: the rules' number of each byte, 0 behind each word. `first`: where each word begins;
    the two of a pair count as two. `counts`: how many of these each word is, 1 or 2.
    """

    units: np.ndarray
    first: np.ndarray
    counts: np.ndarray


def joined(words: Sequence[bytes], rules: ByteRules) -> Joined:
    """Words as bytes for `of_joined`; a space separates the words of a pair."""
    halves = [word.split(b" ", 1) if b" " in word[1:-1] else [word] for word in words]
    counts = np.array([len(half) for half in halves], np.int64)
    parts = [part for half in halves for part in half]
    lengths = np.fromiter((len(part) + 1 for part in parts), np.int64, len(parts))
    data = np.frombuffer(b"\n".join([*parts, b""]), np.uint8)
    return Joined(rules.units[data], np.cumsum(lengths) - lengths, counts)


def of_joined(words: Joined, seed: int) -> np.ndarray:
    """The hashes of words, int32 `(words,)`, as `of_list` gives them."""
    if not len(words.first):
        return np.zeros(0, np.int32)
    values = _sums(words.units, words.first, seed)
    last = np.cumsum(words.counts) - 1
    pairs = values[last - words.counts + 1] * np.int32(int32(GOLDEN)) + values[last]  # wraps
    return np.where(words.counts == 2, pairs, values[last])


def _sums(units: np.ndarray, first: np.ndarray, seed: int) -> np.ndarray:
    """The hashes of words that begin at `first`, by the numbers of all bytes, 0 between words."""
    sums = np.cumsum(units, dtype=np.int64)
    lengths = np.diff(np.append(first, len(units)))
    before = np.repeat(sums[first] - units[first], lengths)
    begin = int(first[0])
    places = (sums[begin:] - before).astype(np.int32)
    found = mixed(places * np.int32(multiplier(seed)))
    found[units[begin:] == 0] = 0  # white space behind a word
    return np.add.reduceat(found, first - begin, dtype=np.int32)
