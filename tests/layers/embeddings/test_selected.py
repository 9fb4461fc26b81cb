import keras
import numpy as np
import pytest

from contracts import check_embedding
from kerascompact.core.storage import total_bits
from kerascompact.layers import SelectedEmbedding
from kerascompact.optimizers import lazy


def test_keeps_the_embedding_contract():
    check_embedding(SelectedEmbedding, file=False)  # test_forms_in_files converts


@pytest.mark.parametrize("others", ["shared", "zeros"])
def test_selected_words_have_rows_and_the_others_one_or_none(others):
    ids = [17, 3, 4]
    layer = SelectedEmbedding(20, 4, selected=ids, others=others)
    found, table = layer(np.arange(20)).numpy(), layer.table.numpy()
    np.testing.assert_array_equal(found[[3, 4, 17]], table[:3])
    rest = np.setdiff1d(np.arange(20), ids)
    shared = table[3] if others == "shared" else np.zeros(4)
    np.testing.assert_array_equal(found[rest], np.tile(shared, (17, 1)))
    assert layer.kept_ids().tolist() == [3, 4, 17]
    np.testing.assert_array_equal(layer.to_form()(np.arange(20)), found)
    hidden = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    for each in (layer, layer.to_form()):  # products of four numbers
        np.testing.assert_allclose(each(hidden, reverse=True), hidden @ found.T, atol=1e-5)


def test_only_selected_words_learn(tmp_path):
    embedding = SelectedEmbedding(9, 2, selected=[5, 7], others="zeros")
    model = keras.Sequential([keras.Input((3,), dtype="int32"), embedding])
    model.compile("sgd", "mse", run_eagerly=True)
    before = embedding.table.numpy()
    model.train_on_batch(np.array([[1, 5, 8]]), np.ones((1, 3, 2)))
    moved = np.any(embedding.table.numpy() != before, axis=1)
    assert moved.tolist() == [True, False]
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(np.arange(9)[None, :3]), model(np.arange(9)[None, :3]))
    assert again.layers[0].kept_ids().tolist() == [5, 7]


@pytest.mark.parametrize("others", ["shared", "zeros"])
def test_a_step_moves_no_row_that_the_batch_does_not_have(others):
    """Words without a row had read the last one, whose momentum then moved it."""
    embedding = SelectedEmbedding(10, 3, selected=[2, 5, 7], others=others)
    model = keras.Sequential([keras.Input((2,), dtype="int32"), embedding])
    model.compile(lazy("adam"), "mse", run_eagerly=True)
    model.train_on_batch(np.array([[2, 7]]), np.ones((1, 2, 3)))
    before = embedding.table.numpy()[:3]
    model.train_on_batch(np.array([[2, 3]]), np.ones((1, 2, 3)))
    moved = np.any(embedding.table.numpy()[:3] != before, axis=1)
    assert moved.tolist() == [True, False, False]


def test_a_number_selects_the_first_ids():
    layer = SelectedEmbedding(3000, 5, selected=300)
    layer.build()
    form = layer.to_form()
    assert layer.kept_ids().tolist() == list(range(300))
    # the others' row is stored, which ids are kept is not
    assert total_bits(form.storage()) == 32 * 5 * 301
    assert form.paper_bits == layer.paper_bits() == 32 * 5 * 300


@pytest.mark.parametrize("selected", [0, 21, -1, 2.5, True, None])
def test_rejects_numbers(selected):
    with pytest.raises(ValueError, match=r"`selected` must be an integer in \[1, 20\]"):
        SelectedEmbedding(20, 4, selected=selected)


def test_rejects_ids():
    with pytest.raises(ValueError, match=r"`selected` must lie in \[0, 20\)"):
        SelectedEmbedding(20, 4, selected=[3, 20])
    with pytest.raises(ValueError, match="`selected` must be distinct ids"):
        SelectedEmbedding(20, 4, selected=[3, 3])
    with pytest.raises(ValueError, match="`others` must be one of 'shared', 'zeros'"):
        SelectedEmbedding(20, 4, 3, others="unknown")
