"""The graph against sets of pairs."""

import itertools

import numpy as np
import pytest

from kerascompact.knowledge import Graph, graph

pytest.importorskip("scipy")

PAIRS = {(0, 3), (1, 3), (2, 5), (3, 5)}


@pytest.fixture
def made():
    # both directions, a pair twice, a loop: none of these changes it
    return Graph.from_pairs([(3, 0), (1, 3), (3, 1), (2, 5), (5, 3), (4, 4), (2, 5)], 7)


def test_is_the_set_of_its_pairs(made):
    assert {tuple(pair) for pair in made.pairs().tolist()} == PAIRS and made.num_pairs == 4
    assert made.pairs().dtype == np.int32 and made.num_objects == 7
    for id in range(7):
        expected = sorted({u + v - id for u, v in PAIRS if id in (u, v)})
        assert made.related(id).tolist() == expected
    dense = made.matrix.toarray()
    assert dense.dtype == bool and np.array_equal(dense, dense.T) and not dense.diagonal().any()


@pytest.mark.parametrize("kind", ["csr_matrix", "coo_array", "dense"])
def test_from_any_matrix(made, kind):
    import scipy.sparse

    dense = np.zeros((7, 7))
    for u, v in PAIRS:
        dense[v, u] = -0.5
    matrix = dense if kind == "dense" else getattr(scipy.sparse, kind)(dense)
    np.testing.assert_array_equal(Graph(matrix).matrix.toarray(), made.matrix.toarray())


def test_stored_zeros_are_no_edges():
    import scipy.sparse

    matrix = scipy.sparse.coo_matrix(([0.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert Graph(matrix).pairs().tolist() == [[1, 2]]


def test_union(made):
    both = made | Graph.from_pairs([(0, 3), (0, 6)], 7)
    assert {tuple(pair) for pair in both.pairs().tolist()} == PAIRS | {(0, 6)}
    with pytest.raises(ValueError, match="equally many objects. Received: <Graph of 7 .* of 8 obj"):
        made | Graph.from_pairs([], 8)
    with pytest.raises(TypeError, match="unsupported operand"):
        made | {(0, 1)}


@pytest.mark.parametrize("itself", [False, True])
def test_entries_of_anchors_are_where_s_is_zero(made, itself):
    """`S(G)` as the paper writes it: rows are objects, columns anchors."""
    anchors = [5, 3, 6]
    penalized = np.ones((7, 3))
    for row, column in itertools.product(range(7), range(3)):
        other = anchors[column]
        if (min(row, other), max(row, other)) in PAIRS or (itself and row == other):
            penalized[row, column] = 0
    entries = made.to_anchors(np.array(anchors), itself)
    assert entries.dtype == np.int32
    np.testing.assert_array_equal(entries, np.argwhere(penalized == 0))


def test_negative_pairs_are_unrelated_distinct_and_all_possible(made):
    every = set(itertools.combinations(range(7), 2)) - PAIRS
    assert {tuple(p) for p in made.negative_pairs(len(every)).tolist()} == every
    few = made.negative_pairs(5, seed=1)
    assert few.dtype == np.int32 and len(few) == 5 and {tuple(p) for p in few.tolist()} <= every
    np.testing.assert_array_equal(few, made.negative_pairs(5, seed=1))
    assert made.negative_pairs(0).shape == (0, 2)
    assert made.negative_pairs(1, among=[5, 3, 2]).tolist() == [[2, 3]]


def test_negative_pairs_are_equally_likely(made, monkeypatch):
    for limit in (graph._ENUMERATED, 0):  # listed, and sampled until enough differ
        monkeypatch.setattr(graph, "_ENUMERATED", limit)
        counts = np.zeros((7, 7))
        for seed in range(300):
            u, v = made.negative_pairs(6, seed=seed).T
            counts[u, v] += 1
        found = counts[counts > 0]
        assert len(found) == 17 and found.sum() == 1800
        # 300 draws of a pair with probability 6/17: mean 106, deviation 8.3; five of them
        assert np.abs(found - 1800 / 17).max() < 42


def test_negative_pairs_of_a_large_graph():
    pairs = np.random.default_rng(0).integers(100_000, size=(50_000, 2))
    made = Graph.from_pairs(pairs, 100_000)
    found = made.negative_pairs(20_000)
    assert len(np.unique(found, axis=0)) == 20_000 and (found[:, 0] < found[:, 1]).all()
    assert not np.asarray(made.matrix[found[:, 0], found[:, 1]]).any()


def test_refuses():
    with pytest.raises(ValueError, match="`matrix` must be square"):
        Graph(np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"`pairs` must be of the shape \(pairs, 2\)"):
        Graph.from_pairs([[0, 1, 2]], 3)
    with pytest.raises(ValueError, match=r"`pairs` must lie in \[0, 3\).*an id of 3"):
        Graph.from_pairs([[0, 3]], 3)
    with pytest.raises(ValueError, match="`num_objects` must be an integer >= 1"):
        Graph.from_pairs([], 0)
    made = Graph.from_pairs([(0, 1)], 3)
    with pytest.raises(ValueError, match="`anchor_ids` must be a list of distinct ids"):
        made.to_anchors([1, 1])
    with pytest.raises(ValueError, match=r"`anchor_ids` must lie in \[0, 3\)"):
        made.to_anchors([3])
    with pytest.raises(ValueError, match=r"`num_pairs` must be an integer in \[0, 2\]"):
        made.negative_pairs(3)
    with pytest.raises(ValueError, match=r"`id` must be an integer in \[0, 2\]"):
        made.related(3)
