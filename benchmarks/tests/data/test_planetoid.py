"""Citation graphs from a tiny file in their format, and the real ones where they are."""

import hashlib
import io

import numpy as np
import pytest

from benchmarks.data import planetoid
from kerascompact.datasets.base import Known

pytest.importorskip("scipy")

DENSE = np.array([[0, 1, 0], [1, 0, 1], [0, 0, 0], [0, 1, 0]], np.float32)


def tiny(**changes):
    arrays = {
        "features_data": np.ones(4, np.float32),
        "features_indices": np.array([1, 0, 2, 1], np.int32),
        "features_indptr": np.array([0, 1, 3, 3, 4], np.int32),
        "features_shape": np.array([4, 3]),
        "edges": np.array([[0, 1], [1, 3], [3, 3]], np.int32),
        "labels": np.array([0, 1, -1, 1], np.int16),
        "num_classes": np.array(2),
        "train_idx": np.array([0], np.int32),
        "val_idx": np.array([1], np.int32),
        "test_idx": np.array([3], np.int32),
    }
    return arrays | changes


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes arrays where a graph is looked for, and makes that the known file."""

    def write(name, arrays, rows=4):
        file = io.BytesIO()
        np.savez_compressed(file, **arrays)
        path = tmp_path / planetoid.FILES[name].path
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(file.getvalue())
        digest = hashlib.sha256(file.getvalue()).hexdigest()
        known = Known(planetoid.FILES[name].path, digest, rows)
        monkeypatch.setitem(planetoid.FILES, name, known)
        return tmp_path

    return write


def test_reads_every_array(write):
    graph = planetoid.load("cora", write("cora", tiny()))
    assert graph.name == "cora" and graph.num_classes == 2 and "Cora" in graph.about
    np.testing.assert_array_equal(graph.features.toarray(), DENSE)
    assert graph.features.format == "csr" and graph.features.dtype == np.float32
    assert graph.edges.tolist() == [[0, 1], [1, 3], [3, 3]]
    assert graph.labels.tolist() == [0, 1, -1, 1] and graph.labels.dtype == np.int32
    assert (graph.train.tolist(), graph.dev.tolist(), graph.test.tolist()) == ([0], [1], [3])
    assert graph.feature_known.all() and graph.feature_known.shape == (4,)


def test_warns_where_features_are_missing(write):
    known = np.array([True, False, False, True])
    folder = write("pubmed", tiny(feature_known=known))
    with pytest.warns(UserWarning, match="pubmed: the features of 2 of 4 nodes are missing"):
        graph = planetoid.load("pubmed", folder)
    np.testing.assert_array_equal(graph.feature_known, known)


def test_refuses_what_it_does_not_know(write, tmp_path):
    with pytest.raises(ValueError, match="`name` must be one of 'cora', 'citeseer', 'pubmed'"):
        planetoid.load("reddit")
    with pytest.raises(ValueError, match="Get it from github.com/tkipf/gcn"):
        planetoid.load("cora", tmp_path)
    with pytest.raises(ValueError, match="cora.npz must have 5 nodes. Received: 4"):
        planetoid.load("cora", write("cora", tiny(), rows=5))
    folder = write("cora", tiny())
    (folder / "planetoid" / "cora.npz").write_bytes(b"other")
    with pytest.raises(ValueError, match="cora.npz is damaged, or another version of the file"):
        planetoid.load("cora", folder)


def test_runs_no_pickle(write):
    folder = write("cora", tiny(labels=np.array([0, None, 1, 1], object)))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        planetoid.load("cora", folder)


@pytest.mark.parametrize(
    ("name", "shape", "entries", "edges", "loops", "counts"),
    [
        ("cora", (2708, 1433), 49_216, 5_278, 0, [351, 217, 418, 818, 426, 298, 180]),
        ("citeseer", (3327, 3703), 105_165, 4_676, 124, None),
    ],
)
def test_real_file(real_data, name, shape, entries, edges, loops, counts):
    graph = planetoid.load(name, real_data)
    assert graph.features.shape == shape and graph.features.nnz == entries
    assert len(graph.edges) == edges
    assert np.count_nonzero(graph.edges[:, 0] == graph.edges[:, 1]) == loops
    assert np.bincount(graph.labels[graph.train]).tolist() == [20] * graph.num_classes
    assert (len(graph.dev), len(graph.test)) == (500, 1_000)
    assert not set(graph.train) & set(graph.dev) and not set(graph.dev) & set(graph.test)
    assert graph.labels[graph.test].min() == 0
    if counts:
        assert np.bincount(graph.labels).tolist() == counts
    else:
        assert np.count_nonzero(graph.labels == -1) == 15


def test_real_pubmed_is_not_whole(real_data):
    with pytest.warns(UserWarning, match="18657 of 19717 nodes"):
        graph = planetoid.load("pubmed", real_data)
    assert np.bincount(graph.labels).tolist() == [4103, 7739, 7875]
    empty = np.diff(graph.features.indptr) == 0
    assert empty[~graph.feature_known].all() and not empty[graph.train].any()
