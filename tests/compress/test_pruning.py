import keras
import numpy as np
import pytest

from kerascompact.compress import Pruning, compress_model
from kerascompact.forms import RemappedForm, SparseTableForm

TABLE = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)


def test_the_largest_entries_are_left():
    form = Pruning(0.75).fit(TABLE, name="words", mask_zero=True)
    limit = np.sort(np.abs(TABLE).ravel())[-100]
    np.testing.assert_array_equal(form(np.arange(50)), TABLE * (np.abs(TABLE) >= limit))
    assert (form.name, form.mask_zero, form.paper_bits) == ("words", True, 32 * 100)


def test_frequent_words_keep_more():
    counts = np.where(np.arange(50) < 10, 100, 1)
    rows = Pruning(0.75).fit(TABLE, counts)(np.arange(50)).numpy()
    assert np.count_nonzero(rows[:10]) >= 60


def test_a_pruned_model_stores_what_is_left():
    embedding = keras.layers.Embedding(50, 8)
    model = keras.Sequential([keras.Input((4,), dtype="int32"), embedding])
    table = TABLE * (np.arange(50) % 5 == 0)[:, None]
    for values, kind in ((np.where(TABLE > 1, TABLE, 0), SparseTableForm), (table, RemappedForm)):
        embedding.set_weights([values])
        small = compress_model(model, Pruning())
        assert isinstance(small.layers[-1], kind | RemappedForm)
        ids = np.arange(48).reshape(12, 4)
        np.testing.assert_array_equal(small(ids), model(ids))


@pytest.mark.parametrize("sparsity", [-0.1, 1, 1.5, None, True])
def test_rejects_sparsity(sparsity):
    with pytest.raises(ValueError, match="`sparsity` must be a"):
        Pruning(sparsity)
