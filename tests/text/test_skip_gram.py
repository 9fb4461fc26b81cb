"""Skip-gram statistics and pairs, against loops written from the paper."""

import numpy as np
import pytest

from kerascompact.text.skip_gram import (
    keep_probabilities,
    noise_probabilities,
    skip_gram_pairs,
    subsample,
)
from kerascompact.text.skip_gram_batches import SkipGramBatches

COUNTS = np.array([0, 0, 500, 300, 150, 50])


def test_probabilities_are_the_papers():
    keep, noise = keep_probabilities(COUNTS, 0.1), noise_probabilities(COUNTS)
    for word, count in enumerate(COUNTS):
        dropped = 1 - (0.1 / (count / 1000)) ** 0.5 if count else 1.0
        assert keep[word] == pytest.approx(1 - max(0.0, dropped))
        total = sum(float(other) ** 0.75 for other in COUNTS if other)
        assert noise[word] == pytest.approx(count**0.75 / total if count else 0.0)


def test_subsampling_keeps_the_expected_share_of_each_word():
    ids = np.repeat(np.arange(6), 20_000)
    keep = np.array([0.0, 1.0, 0.5, 0.1, 0.01, 0.9])
    left, texts = subsample(ids, keep, np.random.default_rng(0), np.arange(len(ids)))
    share = np.bincount(left, minlength=6) / 20_000
    # five standard deviations of a binomial share
    np.testing.assert_allclose(share, keep, atol=5 * 0.5 / 20_000**0.5)
    assert share[0] == 0 and share[1] == 1
    np.testing.assert_array_equal(ids[texts], left)


def windows(ids, widths, texts):
    """Section 2.1, word by word."""
    for t, word in enumerate(ids):
        for o in range(-widths[t], widths[t] + 1):
            if o and 0 <= t + o < len(ids) and texts[t + o] == texts[t]:
                yield int(word), int(ids[t + o])


@pytest.mark.parametrize("several", [False, True])
def test_pairs_are_those_of_the_windows(several):
    draw = np.random.default_rng(3)
    ids, texts = draw.integers(0, 50, 200), np.sort(draw.integers(0, 9, 200))
    given = texts if several else None
    words, contexts = skip_gram_pairs(ids, 4, np.random.default_rng(7), given)
    widths = np.random.default_rng(7).integers(1, 5, 200, dtype=np.int16)
    expected = windows(ids, widths, texts if several else np.zeros(200))
    assert sorted(zip(words.tolist(), contexts.tolist(), strict=True)) == sorted(expected)


def test_short_texts_have_few_pairs_or_none():
    random = np.random.default_rng(0)
    assert len(skip_gram_pairs(np.array([], int), 5, random)[0]) == 0
    assert len(skip_gram_pairs(np.array([3]), 5, random)[0]) == 0
    assert len(skip_gram_pairs(np.array([3, 4]), 5, random)[0]) == 2
    assert len(skip_gram_pairs(np.array([3, 4]), 5, random, np.array([0, 1]))[0]) == 0


def text(length=6000):
    return np.random.default_rng(1).choice(6, length, p=COUNTS / COUNTS.sum()).astype(np.int32)


@pytest.mark.parametrize("by_word", [False, True])
def test_an_epoch_has_the_pairs_of_its_chunks(by_word):
    batches = SkipGramBatches(
        text(), COUNTS, 512, window=3, threshold=1.0, by_word=by_word, chunk=2000
    )
    assert len(batches.chunks) == 3
    for place in range(3):
        steps = range(batches.first[place], batches.first[place + 1])
        found = [batches[step] for step in steps]
        words = np.concatenate([part[0] for part in found])
        contexts = np.concatenate([part[1] for part in found])
        expected = batches.pairs(0, place)
        if by_word:  # every pair once, and all of a word in one batch
            assert sorted(zip(words, contexts, strict=True)) == sorted(zip(*expected, strict=True))
            for word in np.unique(words):
                assert sum(word in part[0] for part in found) == 1
        else:  # full batches: the chunk's pairs, but for less than half a batch
            assert {len(part[0]) for part in found} == {512}
            counted = np.zeros((2, 6, 6), int)
            np.add.at(counted[0], (words, contexts), 1)
            np.add.at(counted[1], expected, 1)
            assert np.abs(counted[0] - counted[1]).sum() <= 256


def test_epochs_differ_and_the_seed_decides():
    first = SkipGramBatches(text(), COUNTS, 64, threshold=1e-2, seed=5)
    again = SkipGramBatches(text(), COUNTS, 64, threshold=1e-2, seed=5)
    np.testing.assert_array_equal(first[3], again[3])
    first.on_epoch_end()
    assert not np.array_equal(first[3], again[3])
    later = SkipGramBatches(text(), COUNTS, 64, threshold=1e-2, seed=5, first_epoch=1)
    np.testing.assert_array_equal(first[3], later[3])
    other = SkipGramBatches(text(), COUNTS, 64, threshold=1e-2, seed=6)
    assert not np.array_equal(other[3], again[3])


@pytest.mark.parametrize("by_word", [False, True])
def test_no_batch_is_empty_however_few_words_there_are(by_word):
    # thirty words, of which an epoch keeps a few: fewer than the first had batches of two
    counts, ids = np.r_[0, 0, np.full(30, 10)], np.repeat(np.arange(2, 32), 10)
    ids = np.random.default_rng(0).permutation(ids)
    batches = SkipGramBatches(ids, counts, 8, threshold=0.003, by_word=by_word, chunk=30)
    for _ in range(20):
        sizes = [len(batches[step][0]) for step in range(len(batches))]
        assert min(sizes) > 0
        batches.on_epoch_end()


def test_no_pair_crosses_texts():
    ids, texts = np.array([2, 3] * 50), np.repeat(np.arange(50), 2)
    batches = SkipGramBatches(ids, np.array([0, 0, 50, 50]), 10, threshold=1.0, texts=texts)
    for step in range(len(batches)):
        words, contexts = batches[step]
        assert (words != contexts).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(ids=np.array([0, 6])), r"`ids` must lie in \[0, 6\)"),
        (dict(ids=np.array([0, 1, 0])), "none of which gives a pair"),
        (dict(counts=np.zeros(6)), "`counts` must be numbers >= 0, one of them above 0"),
        (dict(counts=np.zeros((2, 3))), "`counts` must be a vector of numbers"),
        (dict(batch_size=0), "`batch_size` must be an integer >= 1"),
        (dict(window=0), "`window` must be an integer >= 1"),
        (dict(threshold=0), "`threshold` must be a finite number > 0"),
        (dict(texts=np.zeros(3, int)), "`texts` must be 200 numbers, as many as the ids"),
        (dict(by_word=1), "`by_word` must be True or False"),
    ],
)
def test_rejects(change, message):
    arguments = dict(ids=text(200), counts=COUNTS, threshold=1.0)
    with pytest.raises(ValueError, match=message):
        SkipGramBatches(**{**arguments, **change})


def test_shares_are_counts_too():
    shares = np.array([0.6, 0.3, 0.1])
    wanted = shares**0.75 / np.sum(shares**0.75)
    np.testing.assert_allclose(noise_probabilities(shares), wanted)
