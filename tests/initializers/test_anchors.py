"""Anchors: what is chosen, and how likely each draw is, from the papers' formulas."""

from collections import Counter

import numpy as np
import pytest

from kerascompact.initializers.anchors import (
    coreset_anchors,
    frequency_anchors,
    frequency_then_clusters,
    kmeans_anchors,
    strongest_rows,
    tf_idf_anchors,
)

TABLE = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 4.0], [-2.0, 1.0]])
COUNTS = np.array([4, 1, 0, 2, 3])
DRAWS = 1500
# a share of 1,500 draws has a deviation of at most 0.013; four of them
NEAR = 0.05


def squared(i, j):
    return float(np.sum((TABLE[i] - TABLE[j]) ** 2))


def kmeans_likelihood(order, weights):
    """Probability of a sequence of anchors, as the paper's three steps write it."""
    likely = weights[order[0]] / sum(weights)
    for step in range(1, len(order)):
        cost = [weights[x] * min(squared(x, c) for c in order[:step]) for x in range(len(TABLE))]
        likely *= cost[order[step]] / sum(cost)
    return likely


def test_frequency():
    counts = np.array([100, 7, 3, 9, 7, 0])
    assert frequency_anchors(counts, 4).tolist() == [0, 3, 1, 4]
    found = frequency_anchors(counts.tolist(), 3, exclude=[0, 4])
    assert found.tolist() == [3, 1, 2] and found.dtype == np.int32


def test_strongest():
    assert strongest_rows([-3.0, -1.0, -2.0, -1.0], 3).tolist() == [1, 3, 2]


def test_tf_idf_is_the_sum_over_documents():
    random = np.random.default_rng(0)
    documents = random.zipf(1.4, (40, 12)) % 20
    scores = np.zeros(20)
    for document in documents:
        for word, count in Counter(document.tolist()).items():
            df = sum(word in other for other in documents)
            scores[word] += count * np.log(40 / df)
    expected = np.argsort(-scores)[:6].tolist()
    assert tf_idf_anchors(documents, 20, 6).tolist() == expected
    ragged = [row[row > 0] for row in documents]
    found = tf_idf_anchors(ragged, 20, 6, exclude=[0])
    assert found.tolist() == tf_idf_anchors(documents, 20, 6, exclude=[0]).tolist()


@pytest.mark.parametrize("weights", [pytest.param(None, marks=pytest.mark.slow), COUNTS])
def test_kmeans_draws_with_the_papers_probabilities(weights):
    drawn = Counter(
        tuple(kmeans_anchors(TABLE, 2, counts=weights, seed=seed).tolist()) for seed in range(DRAWS)
    )
    plain = np.ones(5) if weights is None else weights
    for first in range(5):
        for second in range(5):
            if first != second:
                expected = kmeans_likelihood((first, second), plain)
                assert abs(drawn[first, second] / DRAWS - expected) < NEAR
    assert not any(first == second for first, second in drawn)


def test_kmeans_of_three_is_as_likely_as_the_paper_says():
    orders = [tuple(kmeans_anchors(TABLE, 3, seed=seed).tolist()) for seed in range(DRAWS)]
    likely = {order: kmeans_likelihood(order, np.ones(5)) for order in set(orders)}
    assert sum(likely.values()) > 0.99  # every order that is not rare was drawn
    shares = {order: count / DRAWS for order, count in Counter(orders).items()}
    assert max(abs(shares[order] - likely[order]) for order in likely) < NEAR


def test_kmeans_covers_clusters_whose_sizes_differ():
    random = np.random.default_rng(0)
    centers = random.normal(size=(6, 8)) * 300
    of = np.repeat(np.arange(6), [200, 5, 5, 5, 5, 5])
    table = (centers[of] + random.normal(size=(225, 8))).astype(np.float32)
    assert set(of[kmeans_anchors(table, 6, seed=1)]) == set(range(6))
    assert set(of[frequency_anchors(np.arange(225, 0, -1), 6)]) == {0}
    mixed = frequency_then_clusters(np.arange(225, 0, -1), table, 2, 7, seed=0)
    assert mixed[:2].tolist() == [0, 1] and set(of[mixed]) == set(range(6))


def test_frequency_then_clusters_is_kmeans_from_the_frequent_ones():
    drawn = Counter(
        int(frequency_then_clusters(COUNTS, TABLE, 2, 3, exclude=[3], seed=seed)[2])
        for seed in range(DRAWS)
    )
    cost = np.array([min(squared(x, 0), squared(x, 4)) for x in range(5)])
    cost[3] = 0
    for id in range(5):
        assert abs(drawn[id] / DRAWS - cost[id] / cost.sum()) < NEAR


def test_sparse_tables_give_the_same_anchors():
    sparse = pytest.importorskip("scipy.sparse")
    random = np.random.default_rng(0)
    table = random.normal(size=(60, 9)) * (random.random((60, 9)) < 0.3)
    for choose in (kmeans_anchors, coreset_anchors):
        expected = choose(table, 8, seed=3)
        np.testing.assert_array_equal(choose(sparse.csr_matrix(table), 8, seed=3), expected)


def test_long_rows_of_float16_are_as_far_apart_as_in_float32():
    """Their squares are more than float16 holds, and would be infinite."""
    table = 200 * np.random.default_rng(0).normal(size=(12, 9))
    half = table.astype(np.float16)
    wanted = kmeans_anchors(half.astype(np.float32), 12, seed=0)
    np.testing.assert_array_equal(kmeans_anchors(half, 12, seed=0), wanted)
    assert {*wanted} == {*range(12)}


def test_equal_rows_are_one_anchor():
    table = np.repeat(np.random.default_rng(0).normal(size=(3, 50)), 20, axis=0) + 100
    found = kmeans_anchors(table.astype(np.float32), 3)
    assert len({int(id) // 20 for id in found}) == 3
    with pytest.raises(ValueError, match="`num_anchors` must be at most 3, the distinct rows"):
        kmeans_anchors(table.astype(np.float32), 4)


@pytest.mark.parametrize("weights", [pytest.param(None, marks=pytest.mark.slow), COUNTS])
def test_coreset_draws_by_sensitivity(weights):
    plain = np.ones(5) if weights is None else weights.astype(float)
    mean = (plain[:, None] * TABLE).sum(0) / plain.sum()
    cost = plain * ((TABLE - mean) ** 2).sum(1)
    expected = plain / plain.sum() / 2 + cost / cost.sum() / 2
    drawn = Counter(int(coreset_anchors(TABLE, 1, weights, seed=s)[0]) for s in range(DRAWS))
    for id in range(5):
        assert abs(drawn[id] / DRAWS - expected[id]) < NEAR
    assert set(coreset_anchors(TABLE, 3, weights, exclude=[1])) <= {0, 2, 3, 4}
    assert sorted(coreset_anchors(np.ones((4, 2)), 4)) == [0, 1, 2, 3]


def test_a_seed_repeats():
    for choose in (kmeans_anchors, coreset_anchors):
        table = np.random.default_rng(0).normal(size=(80, 4))
        np.testing.assert_array_equal(choose(table, 9, seed=5), choose(table, 9, seed=5))
        assert choose(table, 9, seed=5).tolist() != choose(table, 9, seed=6).tolist()
        assert choose(table, 9).dtype == np.int32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frequency_anchors([1, -1], 1), "`counts` must be at least 0"),
        (lambda: frequency_anchors([[1]], 1), r"`counts` must be of the shape \(objects,\)"),
        (
            lambda: frequency_anchors([1, 2], 2, [0]),
            r"`num_anchors` must be an integer in \[1, 1\]",
        ),
        (lambda: frequency_anchors([1, 2], 1, [2]), r"`exclude` must lie in \[0, 2\)"),
        (lambda: frequency_anchors([1, 2], 1, [0, 0]), "`exclude` must be a list of distinct ids"),
        (lambda: strongest_rows([np.nan], 1), "`scores` must hold finite numbers only"),
        (lambda: tf_idf_anchors([], 3, 1), "`documents` must be at least one document"),
        (lambda: tf_idf_anchors([[3]], 3, 1), r"`documents` must lie in \[0, 3\)"),
        (lambda: kmeans_anchors(TABLE[0], 1), r"`table` must be numbers of the shape"),
        (lambda: kmeans_anchors(TABLE * np.inf, 1), "`table` must hold finite numbers"),
        (lambda: kmeans_anchors(TABLE, 6), r"`num_anchors` must be an integer in \[1, 5\]"),
        (lambda: kmeans_anchors(TABLE, 1, COUNTS[:3]), r"`counts` must be of the shape \(5,\)"),
        (lambda: kmeans_anchors(TABLE, 1, first=[0, 1]), r"must be an integer in \[2, 5\]"),
        (
            lambda: coreset_anchors(TABLE, 5, COUNTS),
            r"`num_anchors` must be an integer in \[1, 4\]",
        ),
    ],
)
def test_refuses(call, message):
    with pytest.raises(ValueError, match=message), np.errstate(invalid="ignore"):
        call()
