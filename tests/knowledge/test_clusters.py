"""Clusters: every pair of members, counted by hand."""

import itertools

import numpy as np
import pytest

from kerascompact.knowledge import cluster_graph, clusters

pytest.importorskip("scipy")

NUMBERS = np.array([2, 7, 2, -1, 7, 2, 9])


def pairs(graph):
    return {tuple(pair) for pair in graph.pairs().tolist()}


def test_numbers():
    graph = cluster_graph(NUMBERS)
    expected = {
        (u, v)
        for u, v in itertools.combinations(range(7), 2)
        if NUMBERS[u] == NUMBERS[v] and NUMBERS[u] >= 0
    }
    assert pairs(graph) == expected and graph.num_objects == 7


def test_mapping_of_one_or_several_clusters():
    graph = cluster_graph({4: "x", 0: ("x", "y", "x"), 1: {"y"}, 5: 3, 6: []}, 8)
    assert pairs(graph) == {(0, 4), (0, 1)} and graph.num_objects == 8


def test_among_keeps_what_the_anchors_need():
    whole, kept = cluster_graph(NUMBERS), cluster_graph(NUMBERS, among=[4, 0])
    assert pairs(kept) == {pair for pair in pairs(whole) if set(pair) & {4, 0}}
    np.testing.assert_array_equal(whole.to_anchors([4, 0]), kept.to_anchors([4, 0]))


def test_refuses_a_graph_that_would_not_fit(monkeypatch):
    monkeypatch.setattr(clusters, "_MOST_PAIRS", 40)
    with pytest.raises(ValueError, match="name the anchors with `among`.*largest cluster has 20"):
        cluster_graph(np.zeros(20, int))
    assert cluster_graph(np.zeros(20, int), among=[3]).num_pairs == 19


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.zeros(3),), "`clusters` must be a mapping, or integers"),
        (({0: 1},), "`num_objects` must be an integer, since `clusters` is a mapping"),
        (({3: 1}, 3), r"`an id of clusters` must be an integer in \[0, 2\]"),
        (({0: {}}, 3), r"`clusters\[0\]` must be a cluster"),
        ((np.zeros(3, int), 4), r"`num_objects` must be an integer in \[3, 3\]"),
    ],
)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        cluster_graph(*arguments)


def test_refuses_among():
    with pytest.raises(ValueError, match=r"`among` must lie in \[0, 7\)"):
        cluster_graph(NUMBERS, among=[7])
    for among in ([0.9], ["1"], [True, False]):  # no ids, though int() takes each
        with pytest.raises(ValueError, match="`among` must be an array of integers"):
            cluster_graph(NUMBERS, among=among)
    assert cluster_graph(NUMBERS, among=[]).num_pairs == 0
