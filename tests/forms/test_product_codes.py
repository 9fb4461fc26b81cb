"""Codes of groups of numbers, with factors of columns and lengths of rows."""

import numpy as np
import pytest

from form_examples import V, numbers, product_codes, product_codes_scaled, some_codes
from kerascompact.compress import codes_of
from kerascompact.core.storage import total_bits
from kerascompact.forms import FactoredForm, ProductCodesForm

BOOK = np.array([[1, -2], [127, -127]])


def test_a_row_is_its_vectors_side_by_side_times_the_factors():
    form = ProductCodesForm.from_codes(np.array([[1, 0], [0, 1]]), BOOK, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(form(np.array([0, 1])), [[127, -254, 3], [1, -4, 381]])


def test_a_length_multiplies_a_row():
    levels = np.arange(256) / 2
    codes, factors = np.array([[1, 0], [0, 1]]), np.ones(4)
    form = ProductCodesForm.from_codes(codes, BOOK, factors, np.array([4, 0]), levels)
    np.testing.assert_array_equal(form(np.array([0, 1])), [[254, -254, 2, -4], [0, 0, 0, 0]])


def test_storage():
    plain, scaled = product_codes()[0], product_codes_scaled()[0]
    own = V * 3 * 3 + 8 * 6 * 2 + 32 * 5  # 3 codes of 6, two int8 each, 5 factors
    assert total_bits(plain.storage()) == own
    assert total_bits(scaled.storage()) == own + 8 * V + 32 * 256
    assert plain.stored_as("int4") is plain


def test_codes_are_read_back():
    np.testing.assert_array_equal(codes_of(product_codes()[0]), some_codes(cardinality=6))


@pytest.mark.parametrize("make", [product_codes, product_codes_scaled])
def test_a_matrix_behind_takes_over_the_factors(make):
    part, table = make()
    kernel = numbers(5, 3, seed=9)
    form = FactoredForm.from_parts(part, kernel).stored_as("int8")
    assert not form.part.factors and len(form.part.weights) == len(part.weights) - 1
    assert not any("column_factors" in array.name for array in form.storage())
    # int8 numbers of the matrix, off by 1 / 254 of the largest of a column
    wanted = table @ kernel
    np.testing.assert_allclose(form(np.arange(V)), wanted, atol=0.02 * np.abs(wanted).max())


def test_refuses_what_does_not_fit():
    codes, factors = np.zeros((4, 2), int), np.ones(3)
    with pytest.raises(ValueError, match=r"`codes` must be an array of shape \(4, 2\)"):
        ProductCodesForm.from_codes(codes[:, :1], BOOK, factors)
    with pytest.raises(ValueError, match=r"`codebook` must be a matrix \(K, g\) of integers"):
        ProductCodesForm.from_codes(codes, 2 * BOOK, factors)
    with pytest.raises(ValueError, match=r"`codes` must lie in \[0, 2\)"):
        ProductCodesForm.from_codes(codes + 2, BOOK, factors)
    with pytest.raises(ValueError, match="`factors` must hold finite numbers only"):
        ProductCodesForm.from_codes(codes, BOOK, factors * np.nan)
    with pytest.raises(ValueError, match=r"`group` must be an integer in \[1, 3\]"):
        ProductCodesForm(4, 3, 2, 4)
    with pytest.raises(ValueError, match="`row_scales` must be True or False"):
        ProductCodesForm(4, 3, 2, 1, row_scales=1)
