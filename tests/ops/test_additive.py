"""Each move against plain NumPy written from its formula, and none makes the error larger."""

import numpy as np
import pytest

from kerascompact.ops import additive
from kerascompact.ops.kmeans import kmeans, nearest

V, D, K, d = 40, 3, 4, 5
RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(V, d)).astype(np.float32)
CODES = RANDOM.integers(0, K, (V, D))
BOOKS = RANDOM.normal(size=(D, K, d)).astype(np.float32)
WEIGHTS = RANDOM.integers(0, 5, V).astype(np.float64)


def by_hand(codes, books):
    return np.array([sum(books[j][c[j]] for j in range(D)) for c in codes])


def squared(codes, books, weights=None):
    each = np.sum(np.square(TABLE - by_hand(codes, books)), axis=1)
    return np.average(each, weights=weights)


@pytest.fixture(autouse=True, params=[4096, 7], ids=["at once", "in parts"])
def rows(request, monkeypatch):
    monkeypatch.setattr(additive, "ROWS", request.param)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_error_is_that_of_the_sums(weights):
    np.testing.assert_allclose(
        additive.reconstruct(CODES, BOOKS), by_hand(CODES, BOOKS), rtol=1e-5, atol=1e-6
    )
    whole = np.average(np.sum(TABLE**2, axis=1), weights=weights)
    expected = squared(CODES, BOOKS, weights) / whole
    assert additive.error(TABLE, CODES, BOOKS, weights) == pytest.approx(expected, rel=1e-5)
    assert additive.error(np.zeros((V, d)), CODES, 0 * BOOKS) == 0


def test_descend_finds_the_best_code_of_each_position():
    start = CODES.copy()
    found = additive.descend(TABLE, CODES, BOOKS, [2, 0])
    np.testing.assert_array_equal(CODES, start)
    np.testing.assert_array_equal(found[:, 1], CODES[:, 1])
    for i in range(V):
        best = list(CODES[i])
        for j in (2, 0):
            tried = []
            for k in range(K):
                best[j] = k
                tried.append(np.sum((TABLE[i] - by_hand([best], BOOKS)[0]) ** 2))
            best[j] = int(np.argmin(tried))
        assert found[i].tolist() == best


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_refit_reaches_the_least_squares_solution(weights):
    one_hot = np.zeros((V, D * K))
    for j in range(D):
        one_hot[np.arange(V), j * K + CODES[:, j]] = 1
    root = np.sqrt(np.ones(V) if weights is None else weights)[:, None]
    solution = np.linalg.lstsq(root * one_hot, root * TABLE, rcond=None)[0].reshape(D, K, d)
    least = squared(CODES, solution, weights)
    errors = [
        squared(CODES, additive.refit(TABLE, CODES, BOOKS, weights, steps), weights)
        for steps in (0, 1, 2, 4, 30)
    ]
    assert errors[0] == pytest.approx(squared(CODES, BOOKS, weights), rel=1e-5)
    assert all(
        later <= before * (1 + 1e-6) for before, later in zip(errors, errors[1:], strict=False)
    )
    assert errors[-1] == pytest.approx(least, rel=1e-5)  # float32 sums


def test_refit_stays_where_nothing_is_to_gain():
    """Far more codebooks than different words: what is left to fit is rounding."""
    codes, random = np.zeros((V, 20), int), np.random.default_rng(1)
    table = np.repeat(TABLE[:1], V, axis=0)
    books = random.normal(size=(20, K, d)).astype(np.float32)
    for _ in range(3):
        books = additive.refit(table, codes, books, steps=30)
        assert additive.error(table, codes, books) < 1e-10
        assert np.abs(books).max() < 10


def test_no_round_makes_the_error_larger():
    codes, books = additive.residual(TABLE, K, range(D))
    before = additive.error(TABLE, codes, books)
    for _ in range(5):
        books = additive.refit(TABLE, codes, books, steps=2)
        codes = additive.descend(TABLE, codes, books, range(D))
        after = additive.error(TABLE, codes, books)
        assert after <= before * (1 + 1e-6)
        before = after


def test_residual_is_k_means_on_what_is_left():
    codes, books = additive.residual(TABLE, K, range(D), seed=3)
    rest = TABLE.copy()
    for j in range(D):
        found, means = kmeans(rest, K, seed=3 + j, iterations=10)
        np.testing.assert_array_equal(codes[:, j], found)
        np.testing.assert_array_equal(books[j], means)
        rest -= means[found]


def test_nearest_by_hand():
    distances = np.linalg.norm(TABLE[:, None] - BOOKS[0][None], axis=2)
    np.testing.assert_array_equal(nearest(TABLE, BOOKS[0]), np.argmin(distances, axis=1))


def test_kmeans_learns_from_a_sample_and_assigns_all():
    blobs = np.repeat([[0.0], [10.0]], 50, axis=0).astype(np.float32)
    codes, means = kmeans(blobs, 2, max_points=20)
    assert sorted(means.ravel().tolist()) == [0, 10]
    np.testing.assert_array_equal(means[codes], blobs)
    weights = np.r_[np.ones(20), np.zeros(80)]  # the sample is of the largest weights
    _, means = kmeans(blobs, 2, weights, max_points=20)
    np.testing.assert_array_equal(means, [[0], [0]])


def test_kmeans_of_fewer_different_points_than_centroids():
    codes, means = kmeans(np.ones((5, 2), np.float32), 3)
    np.testing.assert_array_equal(means[codes], np.ones((5, 2)))
