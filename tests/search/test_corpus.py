"""Ids of a corpus, against the vocabulary's own encoding."""

import numpy as np
import pytest

from kerascompact.search.corpus import ALL, WHOLE, Corpus, packed
from kerascompact.search.tokens import SHORT
from kerascompact.text import Buckets, SlotVocabulary, Vocabulary
from kerascompact.text.rules import tokenize
from made_up_questions import questions

TEXTS, LABELS = questions(60, 0)


def corpus(folder=None):
    return Corpus([*TEXTS, "", "unheard of <pad> words"], LABELS, 40, ("a", "b"), folder)


@pytest.mark.parametrize("rules", ["wordpunct", "wordpunct_pairs"])
def test_ids_are_those_of_the_vocabulary(rules, tmp_path):
    found = corpus(tmp_path)
    tokens = found.tokens(rules)
    expected = tokens.vocabulary.encode_all(found.texts, tokens.ids.shape[1])
    np.testing.assert_array_equal(tokens.ids, expected)
    shorter = Vocabulary(tokens.vocabulary.words[3:30:2], rules)
    slots = found.slots(rules)
    np.testing.assert_array_equal(found.encode(shorter), shorter.encode_all(TEXTS, slots))
    known = found.encode(shorter, known_only=True)
    for row, text in zip(known, TEXTS, strict=True):
        ids = shorter.encode(text)
        assert row[row > 0].tolist() == ids[ids > 1].tolist()
    again = corpus(tmp_path).tokens(rules)  # from the folder
    np.testing.assert_array_equal(again.ids, tokens.ids)
    assert again.vocabulary.words == tokens.vocabulary.words


@pytest.mark.parametrize("rules", ["wordpunct", "wordpunct_pairs", "characters"])
@pytest.mark.parametrize("stored", ["slots", "buckets"])
def test_hashed_ids_are_those_of_the_file(stored, rules, tmp_path):
    """With punctuation, whose bytes a rule set numbers apart from those of words."""
    texts = [f"{text} (it's 'so', \u00e9t\u00e9!) a\0b" for text in TEXTS]
    found = Corpus(texts, LABELS, 40, ("a", "b"), tmp_path)
    words = found.tokens(rules).vocabulary.words
    made = (
        Buckets(50, rules) if stored == "buckets" else SlotVocabulary.from_ranked(words, 40, rules)
    )
    expected = made.encode_all(texts, found.slots(rules))
    for one in (found, Corpus(texts, LABELS, 40, ("a", "b"), tmp_path)):  # the second from files
        np.testing.assert_array_equal(one.encode(made), expected)
        np.testing.assert_array_equal(one.encode(made, known_only=True), packed(expected))


@pytest.mark.parametrize("on_disk", [False, True])
def test_memory_holds_the_hashes_of_the_last_seeds_only(on_disk, tmp_path):
    found = corpus(tmp_path if on_disk else None)
    words = found.tokens("wordpunct").vocabulary.words
    made = [SlotVocabulary(words[:20], "wordpunct", seed=seed) for seed in (1, 2, 1, 3, 1, 2)]
    for one in made:
        expected = one.encode_all(TEXTS, found.slots("wordpunct"))
        np.testing.assert_array_equal(found.encode(one), expected)
        assert len(found._found) <= 2
    assert [int(key[-1]) for key in found._found] == [1, 2]


def test_counts_are_those_of_train():
    tokens = corpus().tokens("wordpunct")
    words = [word for text in TEXTS[:40] for word in tokenize(text)]
    word = tokens.vocabulary.words[0]
    assert tokens.counts[2] == words.count(word) == max(map(words.count, set(words)))
    assert tokens.counts[:2].tolist() == [0, 0]


def test_a_fold_has_every_class_in_proportion_and_no_row_twice():
    found = corpus()
    seen = []
    for fold in range(4):
        train, dev = found.rows(fold)
        assert sorted([*train, *dev]) == list(range(60)) and len(dev) == 20
        assert set(LABELS[train]) == set(LABELS)
        seen.append(tuple(dev))
        if fold:
            shares = np.bincount(LABELS[dev], minlength=2) / np.bincount(LABELS)
            assert abs(shares - 1 / 3).max() < 0.12
    assert len(set(seen)) == 4 and tuple(found.rows(2)[1]) == seen[2]


def test_packed_keeps_rows_without_a_word():
    assert packed(np.array([[1, 0], [1, 1]])).tolist() == [[0], [0]]


def test_rows_of_a_trial_and_of_the_final_training():
    found = Corpus(TEXTS, LABELS, 40, ("a", "b"), used=(10, 30))
    for fold in (0, 1):
        train, dev = found.rows(fold)
        assert len(set(train)) == 10 and len(dev) == len(LABELS) - 40
        assert not set(train) & set(dev)
    whole, dev = found.rows(WHOLE)
    assert len(set(whole)) == 30 and whole.max() < 40 <= dev.min()
    assert len(Corpus(TEXTS, LABELS, 40, ("a", "b")).rows(ALL)[0]) == len(LABELS)


def test_one_very_long_text_does_not_widen_all(monkeypatch):
    texts = [*["turn it up"] * 299, "word " * 400]
    found = Corpus(texts, np.zeros(300, int), 250, ("a", "b"))
    assert found.sequence_length == SHORT and found.tokens("wordpunct").ids.shape[1] == SHORT
    assert (found.tokens("wordpunct_pairs").ids[-1] > 0).all()
