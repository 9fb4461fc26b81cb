"""Counts against two loops over places."""

import numpy as np
import pytest

from kerascompact.knowledge import cooccurrence, cooccurrence_counts, cooccurrence_graph

pytest.importorskip("scipy")


def reference(sequences, num_objects, window, ignore=()):
    counts = np.zeros((num_objects, num_objects), int)
    for ids in sequences:
        for i, u in enumerate(ids):
            for v in ids[max(0, i - window) : i + window + 1]:
                if u != v and u not in ignore and v not in ignore:
                    counts[u, v] += 1
    return counts


STREAM = np.random.default_rng(0).zipf(1.5, 4000) % 60


@pytest.mark.parametrize("window", [1, 3, 10])
def test_a_stream(window):
    found = cooccurrence_counts(STREAM, 60, window)
    np.testing.assert_array_equal(found.toarray(), reference([STREAM], 60, window))
    assert found.dtype == np.int64 and found.format == "csr"


def test_chunks_and_passes_change_nothing(monkeypatch):
    expected = cooccurrence_counts(STREAM, 60, 10)
    monkeypatch.setattr(cooccurrence, "_CHUNK", 10)  # 1,000 tokens, the least
    chunked = cooccurrence_counts(STREAM, 60, 10)
    np.testing.assert_array_equal(chunked.toarray(), expected.toarray())
    ids = np.random.default_rng(1).integers(0, 150, 3500)  # nearly all of 11,175 pairs
    whole = cooccurrence_counts(ids, 150, min_pmi=0.1, min_count=2)
    parts = cooccurrence_counts(ids, 150, min_pmi=0.1, min_count=2, max_pairs=1000)
    np.testing.assert_array_equal(parts.toarray(), whole.toarray())
    assert parts.nnz > 2000


def test_never_more_pairs_at_once_than_allowed(monkeypatch):
    monkeypatch.setattr(cooccurrence, "_CHUNK", 10)
    sizes = []
    keep = cooccurrence._Counts.keep

    def watched(self, mask):
        keep(self, mask)
        sizes.append(len(self.keys))

    monkeypatch.setattr(cooccurrence._Counts, "keep", watched)
    ids = np.random.default_rng(1).integers(0, 150, 9000)
    found = cooccurrence_counts(ids, 150, 2, max_pairs=1000)
    assert found.nnz > 10_000 and len(sizes) >= 8
    np.testing.assert_array_equal(found.toarray(), reference([ids], 150, 2))


@pytest.mark.parametrize("kind", ["rows", "list", "long rows", "long list"])
def test_sequences_do_not_touch(kind, monkeypatch):
    if kind.startswith("long"):
        monkeypatch.setattr(cooccurrence, "_CHUNK", 10)
    lengths = (7, 0, 1, 1, 40) if kind != "long list" else (1300, 3, 900, 0, 300)
    given = [STREAM[:n].astype(np.uint64) for n in lengths]
    if kind.endswith("rows"):
        given = STREAM[: 40 * 25].reshape(40, 25) if kind == "rows" else STREAM.reshape(2, 2000)
    found = cooccurrence_counts(given, 60, 4)
    np.testing.assert_array_equal(found.toarray(), reference(given, 60, 4))


def test_ignored_ids_keep_their_place():
    found = cooccurrence_counts(STREAM, 60, 4, ignore=(1, 3))
    np.testing.assert_array_equal(found.toarray(), reference([STREAM], 60, 4, (1, 3)))


def test_among_keeps_pairs_with_such_an_end():
    whole = cooccurrence_counts(STREAM, 60, 4, min_pmi=0.0).toarray()
    expected = np.zeros_like(whole)
    expected[[5, 9]], expected[:, [5, 9]] = whole[[5, 9]], whole[:, [5, 9]]
    found = cooccurrence_counts(STREAM, 60, 4, min_pmi=0.0, among=[9, 5])
    np.testing.assert_array_equal(found.toarray(), expected)


def test_thresholds():
    counts = reference([STREAM], 60, 10)
    np.testing.assert_array_equal(
        cooccurrence_counts(STREAM, 60, min_count=4).toarray(), counts * (counts >= 4)
    )
    shares = counts.sum(1) / counts.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(counts / counts.sum() / np.outer(shares, shares))
    for least in (-0.5, 0.3):
        found = cooccurrence_counts(STREAM, 60, min_count=2, min_pmi=least).toarray()
        np.testing.assert_array_equal(found, np.where((pmi >= least) & (counts >= 2), counts, 0))
        assert 0 < np.count_nonzero(found) < np.count_nonzero(counts)


def test_graph_and_nothing_at_all():
    graph = cooccurrence_graph(STREAM, 60, window=10, min_count=4)
    counts = reference([STREAM], 60, 10)
    np.testing.assert_array_equal(graph.matrix.toarray(), counts >= 4)
    for empty in (np.zeros(0, int), [], np.zeros((3, 1), int)):
        assert cooccurrence_graph(empty, 5, min_pmi=1.0).num_pairs == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sequences": np.array([0, 60])}, r"`sequences` must lie in \[0, 60\).*an id of 60"),
        ({"sequences": [np.array([0, -1])]}, r"`sequences` must lie in \[0, 60\)"),
        ({"sequences": [[[1, 2]]]}, r"`sequences\[0\]` must be of the shape \(tokens,\)"),
        ({"sequences": iter([[1]])}, "`sequences` must be an array of ids, or a list"),
        ({"sequences": np.ones(3)}, "`sequences` must be an array of integers"),
        ({"window": 0}, "`window` must be an integer >= 1"),
        ({"min_count": 0}, "`min_count` must be an integer >= 1"),
        ({"min_pmi": "1"}, "`min_pmi` must be a finite number"),
        ({"ignore": [60]}, r"`ignore` must lie in \[0, 60\)"),
        ({"max_pairs": 10}, "`max_pairs` must be an integer >= 1000"),
    ],
)
def test_refuses(change, message):
    with pytest.raises(ValueError, match=message):
        cooccurrence_counts(**{"sequences": STREAM, "num_objects": 60, **change})
