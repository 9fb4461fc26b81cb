"""Tokens: all texts as ids of the most frequent words and pairs."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kerascompact.text import inputs
from kerascompact.text.rules import named
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary

FEWER_TOKENS, MOST_TOKENS = 512, 1024  # of a text; longer ones are cut, the more texts the sooner
MOST_NUMBERS = 256_000_000  # of all texts together, 1 GB; pairs take twice as much
MOST_IDS = 40_000  # that words are chosen from
SHORT = 64  # tokens of texts that are never cut
UNSEEN = 0.5  # times that a word of pre-trained vectors is thought to occur, if no text has it


class Tokens(NamedTuple):
    """All texts by one vocabulary.

    Args:
        vocabulary: The vocabulary.
        ids: int32 `(rows, slots)`.
        counts: How often each id occurs in the texts that are counted.
    """

    vocabulary: Vocabulary
    ids: np.ndarray
    counts: np.ndarray


def tokens_of(
    texts: Sequence[str], counted: np.ndarray, rules: str, more: Sequence[str] = ()
) -> Tokens:
    """Counts and numbers the words of all texts in one pass.

    Args:
        texts: The texts.
        counted: Mask of those whose words are counted.
        rules: Token rules, without pairs.
        more: Words that follow those of the texts, as if each had been met `UNSEEN` times.
    """
    split, most = named(rules).tokens, most_tokens(len(texts))
    index: dict[str, int] = {}
    rows = [
        np.array([index.setdefault(word, len(index)) for word in split(text)[:most]], int)
        for text in texts
    ]
    flat = np.concatenate(rows) if rows else np.zeros(0, int)
    lengths = np.array([len(row) for row in rows])
    counts = np.bincount(flat[np.repeat(counted, lengths)], minlength=len(index))
    counter = {word: int(counts[number]) for word, number in index.items() if counts[number]}
    counter = {
        word: count for word, count in counter.items() if word not in (inputs.PAD, inputs.UNK)
    }
    new = dict.fromkeys(word for word in more if word not in counter and split(word) == [word])
    vocabulary = _vocabulary(counter, tuple(new), rules)
    lookup = np.array([vocabulary.id_of(word) for word in index], np.int32)
    longest = int(lengths.max(initial=1))
    width = longest if longest <= SHORT else max(SHORT, int(np.quantile(lengths, 0.99)))
    ids = np.zeros((len(rows), max(1, width)), np.int32)
    read = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths) < width
    ids[np.arange(ids.shape[1]) < lengths[:, None]] = lookup[flat[read]]
    return Tokens(vocabulary, ids, _counts(ids[counted], vocabulary, set(new)))


def most_tokens(rows: int) -> int:
    """Most tokens of a text that are read.

    >>> most_tokens(25_000), most_tokens(400_000), most_tokens(5_000_000)
    (1024, 640, 512)
    """
    return min(MOST_TOKENS, max(FEWER_TOKENS, MOST_NUMBERS // max(rows, 1)))


def with_pairs(words: Tokens, counted: np.ndarray, rules: str) -> Tokens:
    """Words and pairs in turns, as the token rules give them, from the ids of words."""
    left, right = words.ids[:, :-1].astype(np.int64), words.ids[:, 1:]
    known = (left >= NUM_RESERVED) & (right >= NUM_RESERVED)
    keys = np.where(known, left * len(words.vocabulary) + right, -1)
    pairs, times = np.unique(keys[counted][known[counted]], return_counts=True)
    pairs, times = pairs[times > 1], times[times > 1]  # a pair met once says nothing
    order = np.argsort(-times, kind="stable")[:MOST_IDS]
    names = words.vocabulary.words
    found = dict(zip(names, words.counts[NUM_RESERVED:].tolist(), strict=True))
    counter = {name: int(count) for name, count in found.items() if count != UNSEEN}
    more = [name for name, count in found.items() if count == UNSEEN]
    for key, count in zip(pairs[order].tolist(), times[order].tolist(), strict=True):
        first, second = divmod(key, len(words.vocabulary))
        counter[f"{names[first - NUM_RESERVED]} {names[second - NUM_RESERVED]}"] = count
    vocabulary = _vocabulary(counter, more, rules)
    ids = np.zeros((len(words.ids), 2 * words.ids.shape[1] - 1), np.int32)
    ids[:, ::2] = _renumbered(words.vocabulary, vocabulary)[words.ids]
    ids[:, 1::2] = np.where(right > 0, _pair_ids(keys, words.vocabulary, vocabulary), 0)
    return Tokens(vocabulary, ids, _counts(ids[counted], vocabulary, set(more)))


def _vocabulary(counter: dict[str, int], more: Sequence[str], rules: str) -> Vocabulary:
    """The most frequent words, and behind them as many of `more` as there is room for."""
    found = Vocabulary.from_counts(counter, MOST_IDS, rules=rules)
    return Vocabulary([*found.words, *more][: MOST_IDS - NUM_RESERVED], rules) if more else found


def _renumbered(old: Vocabulary, new: Vocabulary) -> np.ndarray:
    return np.array([0, 1, *(new.id_of(word) for word in old.words)], np.int32)


def _pair_ids(keys: np.ndarray, words: Vocabulary, vocabulary: Vocabulary) -> np.ndarray:
    """Ids of pairs by their keys, 1 for unknown ones."""
    numbers, ids = [], []
    for id, token in enumerate(vocabulary.words, NUM_RESERVED):
        first, space, second = token.partition(" ")
        if space:
            numbers.append(words.id_of(first) * len(words) + words.id_of(second))
            ids.append(id)
    if not numbers:
        return np.ones(keys.shape, np.int32)
    order = np.argsort(numbers)
    sorted_keys, sorted_ids = np.array(numbers)[order], np.array(ids, np.int32)[order]
    place = np.minimum(np.searchsorted(sorted_keys, keys), len(sorted_keys) - 1)
    return np.where(sorted_keys[place] == keys, sorted_ids[place], 1)


def _counts(ids: np.ndarray, vocabulary: Vocabulary, unseen: set[str]) -> np.ndarray:
    counts = np.bincount(ids.ravel(), minlength=len(vocabulary)).astype(np.float64)
    counts[:NUM_RESERVED] = 0
    if unseen:
        mask = np.array([word in unseen for word in vocabulary.words])
        counts[NUM_RESERVED:][mask] = UNSEEN
    return counts
