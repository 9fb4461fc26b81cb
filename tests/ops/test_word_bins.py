"""Equation 1 by the paper, and the numbers that it gives for 44,000 words."""

import numpy as np
import pytest

from kerascompact.ops.word_bins import bin_widths, words_per_bin


def alpha_of(density, widths):
    """Equation 1 as a polynomial in alpha: its only root in [0, 1]."""
    coefficients = np.array(widths, float) / sum(widths)
    coefficients[0] -= density
    roots = np.roots(coefficients[::-1])
    real = roots[np.abs(roots.imag) < 1e-9].real
    (root,) = real[(real >= 0) & (real <= 1)]
    return root


@pytest.mark.parametrize("density", [0.1, 0.15, 0.2, 0.25, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("widths", [[1] * 20, [2] * 10, [4, 8, 8], [2, 3, 5, 10]])
@pytest.mark.parametrize("words", [50, 1003, 43_815])
def test_solves_equation_1_in_whole_words(density, widths, words):
    if density * sum(widths) < widths[0]:
        with pytest.raises(ValueError, match="`density` must be at least 0.2, the share"):
            words_per_bin(density, widths, words)
        return
    counts, alpha = words_per_bin(density, widths, words)
    # rounding moves the entries by half a word of each bin: an alpha that gives as many less
    if words > 1000 and density * sum(widths) > widths[0]:
        assert abs(alpha - alpha_of(density, widths)) < 0.01
    entries = np.dot(counts, widths)
    assert abs(entries - density * sum(widths) * words) <= max(widths) / 2 + 1e-6
    assert counts[0] == words and np.all(np.diff(counts) <= 0)
    exact = words * alpha ** np.arange(len(widths))
    assert np.all(np.abs(counts - exact) <= 0.5 + 1e-6)


def test_the_papers_numbers():
    """Section 4.1: 44k words (43,815, section 4.2), k = 20, density 0.2; and Table 3's row."""
    counts, alpha = words_per_bin(0.2, [1] * 20, 43_815)
    assert round(alpha, 2) == 0.75
    assert round(1 - counts[1] / 43_815, 2) == 0.25  # words with embedding length 1
    assert round(counts[9] / 43_815, 3) == 0.076  # with length 10 or higher
    assert abs(counts[19] - 192) <= 3  # with the maximum length; the paper rounds otherwise
    for density, thousands in ((1.0, 876), (0.25, 219), (0.1, 88)):
        assert round(sum(words_per_bin(density, [1] * 20, 43_815)[0]) / 1000) == thousands


def test_the_ends():
    assert words_per_bin(1, [3, 2], 7) == ([7, 7], 1.0)
    assert words_per_bin(0.6, [3, 2], 7)[0] == [7, 0]
    assert words_per_bin(1.0, [5], 7)[0] == [7]
    with pytest.raises(ValueError, match="`density` must be at least 1, the share of the first"):
        words_per_bin(0.9, [5], 7)
    for bad in (0, 1.1, "0.5", None, True, np.nan):
        with pytest.raises(ValueError, match=r"`density` must be a number in \(0, 1\]"):
            words_per_bin(bad, [1, 1], 7)


def test_bins():
    assert bin_widths(3, None, None) == [1, 1, 1]
    assert bin_widths(400, 10, None) == [40] * 10
    assert bin_widths(10, 3, 6) == [6, 2, 2]
    assert bin_widths(10, 1, 10) == [10] == bin_widths(10, None, 10)
    assert bin_widths(10, (4, 6), 4) == [4, 6]
    for bins, first, message in (
        (0, None, r"`bins` must be an integer in \[1, 4\]"),
        (5, None, r"`bins` must be an integer in \[1, 4\]"),
        (1, 2, r"`bins` must be an integer in \[2, 3\]"),
        ([1, 2], None, "`bins` must be widths whose sum is 4"),
        ([1, 3], 2, "`bins` must be widths whose sum is 4, the first 2"),
        ([1.5, 2.5], None, "`bins` must be an integer"),
        ("2", None, r"`bins` must be an integer in \[1, 4\]"),
        (None, 5, r"`min_width` must be an integer in \[1, 4\]"),
    ):
        with pytest.raises(ValueError, match=message):
            bin_widths(4, bins, first)
