import keras
import numpy as np
import pytest

from form_examples import dense, numbers, remapped, remapped_range, remapped_shared
from kerascompact import export
from kerascompact.core.storage import total_bits
from kerascompact.forms import RemappedForm

EVERY = np.arange(23)


@pytest.mark.parametrize("make", [remapped, remapped_range, remapped_shared])
def test_looks_up_the_rows_that_are_kept(make):
    form, table = make()
    np.testing.assert_array_equal(form(EVERY), table)
    hidden = numbers(2, 3, 4, seed=9)
    # products of four numbers of size 3
    np.testing.assert_allclose(form(hidden, reverse=True), hidden @ table.T, atol=1e-5)
    again = RemappedForm.from_config(form.get_config())
    again.build()
    again.set_weights(form.get_weights())
    np.testing.assert_array_equal(again(EVERY), table)


def test_stores_ids_in_the_smallest_way():
    random = np.random.default_rng(0)
    for share, kept in ((0.02, "sorted"), (0.5, "bitmap"), (1, "range")):
        ids = np.flatnonzero(random.random(3000) < share)
        part, _ = dense(len(ids))
        form = RemappedForm.from_part(part, ids, 3000)
        assert form.kept == kept
        index = {
            "sorted": 8 * len(ids) + 16 * (12 + 1),  # blocks of 256 ids
            "bitmap": 64 * 47 + 16 * (47 + 1),  # blocks of 64
            "range": 0,
        }[kept]
        assert total_bits(form.storage()) == 32 * 4 * len(ids) + index
    assert RemappedForm.from_part(dense(7)[0], np.arange(90, 97), 3000).first == 90


@pytest.mark.slow  # bits are counted above, and bytes in `test_forms_in_files`
def test_the_file_holds_the_ids_once():
    """One file of a form with sorted ids and one with a bitmap."""
    random, forms = np.random.default_rng(0), []
    for share in (0.02, 0.5):
        ids = np.flatnonzero(random.random(100_000) < share)
        forms.append(RemappedForm.from_part(dense(len(ids), width=2)[0], ids, 100_000))
    inputs = keras.Input((None,), dtype="int32")
    data = export.convert(keras.Model(inputs, [form(inputs) for form in forms]))
    stored = sum(total_bits(form.storage()) for form in forms)
    assert len(data) <= stored / 8 + 10 * 1024


def test_leaves_out_rows_of_zeros():
    table = numbers(23, 4) * (np.arange(23) % 3 == 1)[:, None]
    form = RemappedForm.from_table(table)
    np.testing.assert_array_equal(form(EVERY), table)
    assert form.num_kept == 8
    nothing = RemappedForm.from_table(np.zeros_like(table))  # a form has a row at least
    np.testing.assert_array_equal(nothing(EVERY), np.zeros_like(table))
    assert total_bits(nothing.storage()) == 32 * 4


def test_hands_out_scales_of_its_part():
    form = remapped()[0].stored_as("int8")
    bare, scale = form.unscaled()
    np.testing.assert_allclose(bare(EVERY) * scale, form(EVERY), rtol=1e-6)  # one rounding
    assert remapped()[0].unscaled()[1] is None


def test_rejects_what_does_not_fit():
    part, _ = dense(3)
    for ids in ([1, 2], [1, 3, 2], [1, 1, 2], [[1, 2, 3]]):
        with pytest.raises(ValueError, match="`ids` must be 3 different ids in ascending order"):
            RemappedForm.from_part(part, np.array(ids), 9)
    with pytest.raises(ValueError, match=r"`ids` must lie in \[0, 9\)"):
        RemappedForm.from_part(part, np.array([1, 2, 9]), 9)
    with pytest.raises(ValueError, match="`input_dim` must be a vocabulary that holds the 3 kept"):
        RemappedForm(2, 4, part)
    with pytest.raises(ValueError, match="`output_dim` must be the part's width, 4"):
        RemappedForm(5, 3, part)
    with pytest.raises(ValueError, match="at least 1"):
        RemappedForm(5, 4, dense(1)[0], shared=True)
    with pytest.raises(ValueError, match=r"`first` must be an integer in \[0, 2\]"):
        RemappedForm(5, 4, part, first=3)
