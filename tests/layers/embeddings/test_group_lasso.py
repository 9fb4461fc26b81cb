import keras
import numpy as np
import pytest

from contracts import check_embedding
from kerascompact.core.storage import total_bits
from kerascompact.layers import GroupLassoEmbedding
from kerascompact.optimizers import Proximal


def test_keeps_the_embedding_contract():
    check_embedding(GroupLassoEmbedding, xla=False, file=False)  # one table, as selected words


def test_every_row_takes_every_proximal_step(tmp_path):
    """Least squares by gradient descent, all 12 rows in NumPy, three of them in each batch."""
    embedding = GroupLassoEmbedding(
        12, 3, group_lasso_weight=0.4, embeddings_initializer="random_normal"
    )
    model = keras.Sequential([keras.Input((3,), dtype="int32"), embedding])
    model.compile(Proximal(keras.optimizers.SGD(0.2)), "mse", run_eagerly=True)
    table = embedding.table.numpy().astype(np.float64) * 10
    embedding.table.assign(table)
    random = np.random.default_rng(0)
    target = random.normal(size=(1, 3, 3))
    for _ in range(8):
        ids = random.choice(6, 3, replace=False)
        model.train_on_batch(ids[None], target)
        table[ids] -= 0.2 * 2 / 9 * (table[ids] - target[0])
        norms = np.linalg.norm(table, axis=1, keepdims=True)
        table *= np.maximum(1 - 0.2 * 0.4 / np.maximum(norms, 1e-12), 0)
        # a few roundings of float32 in each step, of numbers of size 1
        np.testing.assert_allclose(embedding.rows(), table, atol=1e-5)
        found = embedding(np.arange(12))
        np.testing.assert_allclose(found, table, atol=1e-5)
        hidden = random.normal(size=(2, 3)).astype(np.float32)
        np.testing.assert_allclose(
            embedding(hidden, reverse=True), hidden @ found.numpy().T, atol=1e-5
        )
    zeros = np.flatnonzero(np.all(table == 0, axis=1))
    assert 0 < len(zeros) < 12
    np.testing.assert_array_equal(np.setdiff1d(np.arange(12), embedding.kept_ids()), zeros)
    form = embedding.to_form()
    np.testing.assert_array_equal(form(np.arange(12)), found)
    assert form.paper_bits == 32 * 3 * (12 - len(zeros)) == embedding.paper_bits()
    assert total_bits(form.part.storage()) == form.paper_bits
    model.save(tmp_path / "model.keras")  # the rows that are behind are saved with what they owe
    again = keras.models.load_model(tmp_path / "model.keras").layers[0]
    np.testing.assert_array_equal(again.rows(), embedding.rows())


def test_other_optimizers_are_refused():
    model = keras.Sequential([keras.Input((3,), dtype="int32"), GroupLassoEmbedding(9, 2, 0.1)])
    model.compile("adam", "mse", run_eagerly=True)
    with pytest.raises(ValueError, match="table' has a proximal rule"):
        model.train_on_batch(np.array([[1, 2, 3]]), np.zeros((1, 3, 2)))


@pytest.mark.parametrize("group_lasso_weight", [-1, np.nan, "1", None, True])
def test_rejects_strength(group_lasso_weight):
    with pytest.raises(ValueError, match=r"`group_lasso_weight` must be a finite number >= 0\."):
        GroupLassoEmbedding(20, 4, group_lasso_weight)
