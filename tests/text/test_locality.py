"""That the bits are a locality-sensitive hash: tests of statistics, with bounds of five deviations.

Everything is drawn with fixed seeds, so a bound that holds once holds always.
"""

import numpy as np
import pytest

from kerascompact.core.projection import Projection
from kerascompact.text.ngrams import ngram_hashes, projection_bits

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def random_words(count, length, seed=0):
    letters = np.random.default_rng(seed).choice(LETTERS, (count, length))
    return ["".join(word) for word in letters]


def angles(one, other, projection):
    """The angle between the counts of two words' n-grams, pair by pair."""
    (hashes, counts), (others, other_counts) = (
        ngram_hashes(words, projection) for words in (one, other)
    )
    found = []
    for mine, yours in zip(
        np.split(hashes, np.cumsum(counts)[:-1]),
        np.split(others, np.cumsum(other_counts)[:-1]),
        strict=True,
    ):
        features = np.unique(np.concatenate([mine, yours]))
        a, b = (
            np.bincount(np.searchsorted(features, some), minlength=len(features))
            for some in (mine, yours)
        )
        found.append(np.arccos(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1)))
    return np.array(found)


@pytest.mark.parametrize("ngrams, seed", [((1, 4), 0), ((2, 5), 1), ((3, 3), 12345)])
def test_bits_agree_as_often_as_the_angle_says(ngrams, seed):
    """Agreement is `1 - angle / pi` (Charikar 2002, sec. 3), over pairs of all angles."""
    projection, length, pairs = Projection(ngrams=ngrams, seed=seed), 24, 60
    first = random_words(pairs, length, seed=1)
    second = random_words(pairs, length, seed=2)
    expected, agreement = [], []
    for common in range(0, length, 3):  # they begin alike
        other = [a[:common] + b[common:] for a, b in zip(first, second, strict=True)]
        expected.append(1 - angles(first, other, projection) / np.pi)
        same = projection_bits(first, projection) == projection_bits(other, projection)
        agreement.append(same.mean(axis=1))
    expected, agreement = np.array(expected), np.array(agreement)
    assert expected.min() < 0.55 and expected.max() > 0.8
    error = np.sqrt(expected * (1 - expected) / projection.num_bits)
    z = (agreement - expected) / error
    # Entries are uniform, not normal: for sums of 20 to 90 of them the normal law is off by less
    # than a tenth of a pair's own error, which shows in no mean over 60 pairs.
    assert np.abs(z.mean(axis=1)).max() < 5 / np.sqrt(pairs)
    # Independent hyperplanes give 1, and copies would give more; products of few features, as of
    # n-grams of one length, give a little more.
    assert np.abs(z).max() < 6 and 0.9 < z.std() < 1.15


def test_bits_are_balanced():
    projection = Projection()
    bits = projection_bits(random_words(2000, 8), projection)
    ones = bits.mean(axis=1)
    z = (ones - 0.5) / np.sqrt(0.25 / projection.num_bits)
    assert np.abs(z).max() < 5 and abs(z.mean()) < 5 / np.sqrt(len(z)) * 3  # words share letters
    assert 0.9 < z.std() < 1.1


@pytest.mark.few(1)
@pytest.mark.parametrize("seeds", [(0, 0), (0, 1)])
def test_hyperplanes_are_independent(seeds):
    """Correlations of all pairs of hyperplanes, over words that have no feature in common."""
    words = random_words(1500, 9)
    one, other = (
        projection_bits(words, Projection(ngrams=(6, 8), boundaries=False, seed=seed)) - 0.5
        for seed in seeds
    )
    correlation = 4 * one.T @ other / len(words)
    if seeds[0] == seeds[1]:
        correlation = correlation[np.triu_indices(len(correlation), 1)]
    z = correlation.ravel() * np.sqrt(len(words))
    # The largest of a million normal numbers is 5. Of a million products of two numbers a few
    # happen to be alike.
    assert np.sum(np.abs(z) > 6) <= 4 and np.abs(z).max() < 12
    assert abs(z.mean()) < 0.01 and 0.98 < z.std() < 1.02


def test_features_are_independent():
    """A hyperplane takes as good as unrelated numbers at the hashes of related n-grams."""
    grams = [a + b for a in LETTERS for b in LETTERS]
    hashes, counts = ngram_hashes(grams, Projection(ngrams=(2, 2), boundaries=False))
    assert np.all(counts == 1) and len(np.unique(hashes)) == len(grams)
    first, _ = Projection(2**10, 2**10).multipliers()
    places = (hashes.view(np.int32)[:, None] * first) >> 24
    places = (places + 0.5) / 2**7
    assert abs(places.mean()) < 5 / np.sqrt(3 * places.size)
    assert abs(places.var() - 1 / 3) < 5 * np.sqrt(4 / 45 / places.size)  # uniform in [-1, 1)
    correlation = 3 * places @ places.T / places.shape[1]
    z = correlation[np.triu_indices(len(grams), 1)] * np.sqrt(places.shape[1])
    assert abs(z.mean()) < 0.02 and 0.98 < z.std() < 1.02
    assert np.abs(z).max() < 6
