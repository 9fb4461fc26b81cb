import numpy as np
import pytest

from kerascompact.compress import KMeansClusters
from kerascompact.core.storage import total_bits


def test_finds_blobs_and_stores_pointers_to_their_means():
    random = np.random.default_rng(0)
    centres = np.array([[0, 0], [10, 0], [0, 10]])
    blob = np.arange(60) % 3
    table = centres[blob] + random.normal(size=(60, 2)) * 0.1
    form = KMeansClusters(3).fit(table)
    means = np.stack([table[blob == b].mean(axis=0) for b in range(3)])
    np.testing.assert_allclose(form(np.arange(60)), means[blob], atol=1e-5)  # float32
    assert total_bits(form.storage()) == form.paper_bits == 60 * 2 + 32 * 3 * 2


def test_counts_pull_a_centroid_to_frequent_words():
    table = np.array([[0.0], [1.0], [50.0], [51.0]])
    plain = KMeansClusters(2).fit(table)(np.array([0])).numpy()
    pulled = KMeansClusters(2).fit(table, [1, 9, 1, 1])(np.array([0])).numpy()
    np.testing.assert_allclose([plain.item(), pulled.item()], [0.5, 0.9], atol=1e-6)


def test_rejects_num_clusters():
    with pytest.raises(ValueError, match=r"`num_clusters` must be an integer in \[2, 65536\]"):
        KMeansClusters(1)
    with pytest.raises(ValueError, match=r"`num_clusters` must be an integer in \[2, 4\]"):
        KMeansClusters(5).fit(np.ones((4, 2)))
