"""Slots against a maximum matching by SciPy, and a lookup word by word."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from kerascompact.text import slots


def hashes(count, seed=0):
    return np.random.default_rng(seed).integers(-(2**31), 2**31, count).astype(np.int32)


def matchable(choices, count):
    """How many of these words can have slots together."""
    rows = np.repeat(np.arange(len(choices)), choices.shape[1])
    graph = csr_matrix((np.ones(rows.size), (rows, choices.ravel())), (len(choices), count))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def test_slots_and_tags_in_python_integers():
    values = hashes(50)
    arrays = values, slots.slots_of(values, 37), slots.tags_of(values)
    for value, found, tag in zip(*arrays, strict=True):
        assert found.tolist() == [int(value) % 37, int(value) % 36, int(value) % 35]
        assert tag == int(value) // 2**24
    assert slots.tags_of(values, 16).tolist() == [int(value) // 2**16 for value in values]
    assert slots.slots_of(values, 1).tolist() == [[0, 0, 0]] * 50


def test_slot_0_is_never_found_by_the_padding_of_a_text():
    values = np.arange(1, 200, dtype=np.int32)  # all of tag 0, some of slot 0
    inside = slots.place(values, 30)
    assert inside[0] == -1 and (inside[1:] >= 0).mean() > 0.5
    assert slots.tags_in(np.where(inside < 0, 0, values[inside]))[0] != 0


@pytest.mark.parametrize(("words", "count"), [(30, 60), (60, 60), (300, 60), (1, 1), (9, 1)])
def test_the_best_that_can_have_slots_together(words, count, monkeypatch):
    """Greedy over prefixes: a word gets a slot if the matching of all words up to it grows."""
    values = hashes(words)
    # where `place` asks for the words that were placed, all of them are found
    monkeypatch.setattr(slots, "find", lambda held, tags, bits: np.flatnonzero(tags))
    monkeypatch.setattr(slots, "tags_in", lambda held, bits: held != 0)
    inside = slots.place(values, count)
    choices = slots.slots_of(values, count)
    sizes = [matchable(choices[: n + 1], count) for n in range(words)]
    assert sorted(inside[inside >= 0]) == np.flatnonzero(np.diff([0, *sizes])).tolist()
    for slot, word in enumerate(inside):
        assert word < 0 or slot in choices[word]


def test_every_word_with_a_slot_is_found_and_few_others():
    values = hashes(60_000)
    known, unknown = values[:6000], values[6000:]
    inside = slots.place(known, 4000)
    taken = inside >= 0
    tags = slots.tags_in(np.where(taken, known[inside], 0))
    np.testing.assert_array_equal(slots.find(known[inside[taken]], tags), np.flatnonzero(taken))
    best = np.isin(np.arange(4000), inside)
    assert best.mean() > 0.92 and best[:3600].mean() > 0.99 and taken.mean() > 0.98
    mistaken = (slots.find(unknown, tags) >= 0).mean()
    assert abs(mistaken - slots.CHOICES / 256) < 0.002  # 5 standard deviations


def test_words_of_one_hash_share_no_slot():
    inside = slots.place(np.array([5, 5, 5], np.int32), 10)
    assert sorted(inside)[-2:] == [-1, inside.max()]
