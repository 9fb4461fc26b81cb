"""A table, whole or rounded."""

import numpy as np
import pytest

from form_examples import dense
from kerascompact.forms import DenseForm


def test_storage_is_the_table():
    form, _ = dense(100, 6)
    assert [tuple(array) for array in form.storage()] == [("table", (100, 6), 32, 0)]
    stored = {array.name: array.total_bits for array in form.stored_as().storage()}
    assert stored == {"table": 8 * 100 * 6, "table_scale": 32 * 6}
    odd = dense(100, 5)[0].stored_as("int4").storage()  # a row is of whole bytes
    assert [array.total_bits for array in odd] == [8 * 100 * 3, 32 * 5]


def test_int8_rows_are_codes_times_the_scale_of_their_column():
    form, table = dense(100, 6)
    scale = np.abs(table).max(axis=0) / 127
    expected = np.rint(table / scale) * scale
    # float32 division and product: two roundings of 2**-24, relative
    np.testing.assert_allclose(form.stored_as()(np.arange(100)), expected, rtol=1e-6, atol=1e-7)


def test_arrays_hold_what_is_counted():
    """What `storage` counts is what the weights occupy, for arrays that are not packed."""
    for form in (dense(9, 2)[0], dense(9, 2)[0].stored_as()):
        held = sum(8 * weight.numpy().nbytes for weight in form.weights)
        assert sum(array.total_bits for array in form.storage()) == held


def test_refuses_a_table_of_another_shape():
    with pytest.raises(ValueError, match=r"shape.*\(3, 2\).*\(2, 3\)|\(2, 3\).*\(3, 2\)"):
        DenseForm.from_arrays({"table": np.zeros((2, 3))}, input_dim=3, output_dim=2)


def test_refuses_to_round_a_table_with_nan():
    form = DenseForm.from_arrays({"table": np.full((3, 2), np.nan)}, input_dim=3, output_dim=2)
    with pytest.raises(ValueError, match="`table` must hold finite numbers only"):
        form.stored_as()
