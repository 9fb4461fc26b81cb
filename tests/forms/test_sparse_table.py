import numpy as np
import pytest
import scipy.sparse
import tensorflow as tf

from form_examples import numbers, sparse_rows
from kerascompact.core.storage import total_bits
from kerascompact.forms import DenseForm, RemappedForm, SparseTableForm
from kerascompact.forms.sparse_table import rows_with_zeros

EVERY = np.arange(23)


def test_holds_every_entry_where_it_was():
    form, table = sparse_rows()
    np.testing.assert_array_equal(form(EVERY), table)
    some = [[3, 3], [0, 22]]
    np.testing.assert_array_equal(form(tf.constant(some)), table[some])
    again = SparseTableForm.from_table(scipy.sparse.csr_matrix(table))
    np.testing.assert_array_equal(again(EVERY), table)
    nothing = SparseTableForm.from_table(np.zeros((23, 4)))
    np.testing.assert_array_equal(nothing(EVERY), np.zeros((23, 4)))


@pytest.mark.slow
def test_holds_every_entry_under_xla():
    form, table = sparse_rows()
    some = [[3, 3], [0, 22]]
    compiled = tf.function(form, jit_compile=True, autograph=False)
    np.testing.assert_array_equal(compiled(tf.constant(some)), table[some])


@pytest.mark.parametrize("batch", [1, 3])
def test_gives_the_logits_of_the_table(batch):
    form, table = sparse_rows()
    hidden = numbers(batch, 2, 4, seed=5)
    # sums of four products of size 5; a unit is 2**-30 of the largest
    np.testing.assert_allclose(form(hidden, reverse=True), hidden @ table.T, atol=1e-5)


def test_counts_its_bits():
    table = numbers(100, 300) * (np.random.default_rng(0).random((100, 300)) < 0.3)
    entries = np.count_nonzero(table)
    form = SparseTableForm.from_table(table)
    rows = 8 * 128 + 32 * 4  # lengths and starts of four blocks
    assert total_bits(form.storage()) == entries * (32 + 16) + rows + 32
    narrow = SparseTableForm.from_table(table[:, :200])
    entries = np.count_nonzero(table[:, :200])
    assert total_bits(narrow.storage()) == entries * (32 + 8) + rows + 32


def test_integers_are_near():
    form, table = sparse_rows(share=0.8)
    small = form.stored_as("int8")
    assert form.stored_as("int4").precision == "int8" and small.stored_as("int4") is small
    error = np.abs(small(EVERY) - table)
    step = np.abs(table).max(axis=0) / 127
    assert np.all(error <= 0.5001 * step)
    hidden = numbers(1, 2, 4, seed=5)
    expected = hidden @ small(EVERY).numpy().T
    np.testing.assert_allclose(small(hidden, reverse=True), expected, atol=1e-5)


def test_the_smallest_form_is_chosen():
    random = np.random.default_rng(0)
    full = numbers(200, 16)
    some_rows = full * (random.random(200) < 0.3)[:, None]
    some_entries = full * (random.random(full.shape) < 0.3)
    both = some_rows * (random.random(full.shape) < 0.3)
    for table, kind in (
        (full, DenseForm),
        (some_rows, RemappedForm),
        (some_entries, SparseTableForm),
        (both, RemappedForm),
        (np.zeros((200, 16), np.float32), RemappedForm),
    ):
        form = rows_with_zeros(table, name="words", mask_zero=True, paper_bits=7)
        assert type(form) is kind and total_bits(form.storage()) <= 32 * 200 * 16
        assert (form.name, form.mask_zero, form.paper_bits) == ("words", True, 7)
        np.testing.assert_array_equal(form(np.arange(200)), table)
    assert type(rows_with_zeros(both).part) is SparseTableForm


def test_rejects_what_is_no_table():
    with pytest.raises(ValueError, match="`transform` must hold finite numbers only"):
        SparseTableForm.from_table(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="`precision` must be one of 'float32', 'int8'"):
        SparseTableForm(3, 2, 1, 1, precision="int4")
    with pytest.raises(ValueError, match=r"`longest_row` must be an integer in \[0, 2\]"):
        SparseTableForm(3, 2, 1, 3)
