import numpy as np
import pytest

from contracts import check_embedding
from kerascompact.layers import ClusterAdjustmentEmbedding


def test_keeps_the_embedding_contract():
    # Clusters are compiled and converted in test_cluster, concatenated in test_code_tables.
    check_embedding(ClusterAdjustmentEmbedding, xla=False, file=False)


@pytest.mark.parametrize("adjustment_dim", [1, 3])
def test_puts_the_clusters_vector_beside_the_words_own(adjustment_dim):
    layer = ClusterAdjustmentEmbedding(20, 5, 4, adjustment_dim=adjustment_dim)
    ids = np.array([[0, 19], [7, 7]])
    vectors = layer(ids).numpy()
    clusters = layer.clusters.logits.numpy()[ids].argmax(-1)
    width = 5 - adjustment_dim
    np.testing.assert_array_equal(vectors[..., :width], layer.clusters.codebook.numpy()[clusters])
    np.testing.assert_array_equal(vectors[..., width:], layer.adjustment.numpy()[ids])


def test_adjustment_is_exact_in_training():
    layer = ClusterAdjustmentEmbedding(20, 5, 4)
    vectors = layer(np.arange(20), training=True).numpy()
    np.testing.assert_array_equal(vectors[:, 4:], layer.adjustment.numpy())
    assert np.any(vectors[:, :4] != layer(np.arange(20), training=False).numpy()[:, :4])


def test_storage_by_hand():
    layer = ClusterAdjustmentEmbedding(3000, 6, 50)
    layer.build()
    form = layer.to_form()
    bits = {array.name: array.total_bits for array in form.storage()}
    assert bits == {"0/codes": 3000 * 6, "0/codebook": 50 * 5 * 32, "1/table": 3000 * 32}
    assert form.paper_bits == 3000 * 6 + 32 * 50 * 5 + 32 * 3000
    bits = {array.name: array.total_bits for array in form.stored_as().storage()}
    assert bits == {
        "0/codes": 3000 * 6,
        "0/codebook": 50 * 5 * 8,
        "0/codebook_scale": 5 * 32,
        "1/table": 3000 * 8,
        "1/table_scale": 32,
    }


def test_assignments_are_those_of_its_clusters():
    layer = ClusterAdjustmentEmbedding(20, 5, 4)
    layer.build()
    assert layer.assignments().tolist() == layer.clusters.logits.numpy().argmax(-1).tolist()


@pytest.mark.parametrize("adjustment_dim", [0, 5, -1, 1.5, True])
def test_rejects_adjustment_dim(adjustment_dim):
    with pytest.raises(ValueError, match=r"`adjustment_dim` must be an integer in \[1, 4\]"):
        ClusterAdjustmentEmbedding(20, 5, 4, adjustment_dim=adjustment_dim)


def test_rejects_what_its_clusters_reject():
    with pytest.raises(ValueError, match=r"`output_dim` must be an integer >= 2"):
        ClusterAdjustmentEmbedding(20, 1, 4)
    with pytest.raises(ValueError, match=r"`num_clusters` must be an integer in \[2, 20\]"):
        ClusterAdjustmentEmbedding(20, 5, 21)
    with pytest.raises(ValueError, match="`temperature` must be a finite number > 0"):
        ClusterAdjustmentEmbedding(20, 5, 4, temperature=0)
