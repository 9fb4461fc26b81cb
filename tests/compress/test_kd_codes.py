"""Codes of a trained table: two ways to find them, and the better one is kept."""

import numpy as np
import pytest

from kerascompact.compress import KDCodes, codes_of
from kerascompact.core.storage import total_bits

RANDOM = np.random.default_rng(0)
V, K, D, d = 80, 4, 3, 6
BOOKS = RANDOM.normal(size=(D, K, d))
CODES = RANDOM.integers(0, K, (V, D))
TABLE = sum(BOOKS[j][CODES[:, j]] for j in range(D))
TABLE = TABLE + 0.05 * RANDOM.normal(size=(V, d))


def relative_error(form, table=TABLE, counts=None):
    each = np.sum((form(np.arange(len(table))).numpy() - table) ** 2, axis=1)
    return np.average(each, weights=counts) / np.average(np.sum(table**2, axis=1), weights=counts)


def test_codes_and_codebooks_are_what_is_stored():
    form = KDCodes(K, D).fit(TABLE, name="words", mask_zero=True)
    books = form.codebook.numpy().reshape(D, K, d)
    expected = [sum(books[j, c[j]] for j in range(D)) for c in codes_of(form)]
    np.testing.assert_allclose(form(np.arange(V)), expected, rtol=1e-5, atol=1e-6)
    assert (form.name, form.mask_zero) == ("words", True)
    assert form.paper_bits == total_bits(form.storage()) == V * D * 2 + 32 * D * K * d


def test_finds_codes_that_add_up():
    assert relative_error(KDCodes(K, D).fit(TABLE)) < 0.1  # of 64 different words, the noise apart


def test_the_better_way_is_kept():
    errors = {
        start: relative_error(KDCodes(K, D, start=start, seed=4).fit(TABLE))
        for start in ("residual", "annealed", "best")
    }
    assert errors["residual"] != errors["annealed"]
    assert errors["best"] == min(errors["residual"], errors["annealed"])


def test_rounds_lower_the_error():
    for start in ("residual", "annealed"):
        few, many = (
            relative_error(KDCodes(K, D, start=start, iterations=n).fit(TABLE)) for n in (1, 40)
        )
        assert many < few
    assert relative_error(KDCodes(K, D, iterations=0).fit(TABLE)) < 1


def test_one_code_is_k_means():
    form = KDCodes(2, 1).fit(np.array([[0.0], [1.0], [5.0], [6.0]]))
    np.testing.assert_allclose(form(np.arange(4)).numpy().ravel(), [0.5, 0.5, 5.5, 5.5], rtol=1e-6)


def test_counts_pull_the_codes_to_frequent_words():
    counts = np.r_[np.full(8, 100.0), np.ones(V - 16), np.zeros(8)]
    plain, pulled = (KDCodes(K, 2).fit(TABLE, c) for c in (None, counts))
    assert relative_error(pulled, counts=counts) < relative_error(plain, counts=counts)


def test_the_same_seed_gives_the_same_codes():
    one, same, other = (KDCodes(K, D, seed=s).fit(TABLE) for s in (1, 1, 2))
    np.testing.assert_array_equal(codes_of(one), codes_of(same))
    assert np.any(codes_of(one) != codes_of(other))


@pytest.mark.parametrize(
    "config, message",
    [
        (dict(cardinality=1), r"`cardinality` must be an integer in \[2, 65536\]"),
        (dict(code_length=0), "`code_length` must be an integer >= 1"),
        (dict(start="both"), "`start` must be one of 'residual', 'annealed', 'best'"),
        (dict(iterations=-1), "`iterations` must be an integer >= 0"),
        (dict(seed=-1), "`seed` must be an integer >= 0"),
        (dict(max_points=1), "`max_points` must be an integer >= 2"),
        (dict(verbose=0), "`verbose` must be True or False"),
    ],
)
def test_rejects_arguments(config, message):
    with pytest.raises(ValueError, match=message):
        KDCodes(**config)


def test_rejects_more_values_than_words():
    with pytest.raises(ValueError, match=r"`cardinality` must be an integer in \[2, 3\]"):
        KDCodes(4, 2).fit(np.ones((3, 2)))
