"""Narrow forms times a matrix, whole and rounded."""

import numpy as np
import pytest

from form_examples import V, codes_concat, codes_sum, dense, factored, low_rank, numbers
from kerascompact.forms import FactoredForm


@pytest.mark.parametrize("make", [codes_sum, codes_concat, dense])
@pytest.mark.parametrize("use_bias", [False, True])
def test_equals_the_product_of_the_tables(make, use_bias):
    form, table = factored(make, use_bias=use_bias)
    # sums of three float32 products
    np.testing.assert_allclose(form(np.arange(V)), table, atol=1e-5)
    np.testing.assert_allclose(form(np.arange(V)[None])[0], table, atol=1e-5)


def test_storage_by_hand():
    form, _ = factored()  # 3 letters of 5, width 3, then a 3 x 4 matrix and a bias
    assert {array.name: array.total_bits for array in form.storage()} == {
        "part/codes": V * 3 * 3,
        "part/codebook": 32 * 3 * 5 * 3,
        "kernel": 32 * 3 * 4,
        "bias": 32 * 4,
    }
    for precision, bits in (("int8", 8), ("int4", 4)):
        assert {array.name: array.total_bits for array in form.stored_as(precision).storage()} == {
            "part/codes": V * 3 * 3,
            "part/codebook": bits * 3 * 5 * (3 if bits == 8 else 4),  # its scales are in the matrix
            "kernel": 8 * 3 * 4,
            "kernel_scale": 32 * 4,
            "bias": 32 * 4,
        }


@pytest.mark.few(2)
@pytest.mark.parametrize(("precision", "largest"), [("int8", 127), ("int4", 7)])
@pytest.mark.parametrize("make", [codes_sum, codes_concat, dense])
def test_rounds_the_matrix_after_it_took_the_scales(make, precision, largest):
    """A product of integers, then one multiplication: in float64, from the stored numbers."""
    form, _ = factored(make)
    small, part = form.stored_as(precision), form.part.stored_as(precision)
    integers, scale = part.unscaled()
    x = integers(np.arange(V)).numpy().astype(np.float64)
    matrix = scale[:, None].astype(np.float64) * form.kernel.numpy()
    step = np.abs(matrix).max(axis=0) / 127
    expected = x @ np.rint(matrix / step) * step + form.bias.numpy()
    # float32 products and steps of 3 terms of size <= 3 * 127 * 127
    np.testing.assert_allclose(small(np.arange(V)), expected, atol=1e-5)
    # half a step of every integer that is added, and of every entry of the matrix
    bound = part_error(form, part) @ np.abs(form.kernel.numpy()) + np.abs(x) @ np.ones_like(
        matrix
    ) * (step / 2)
    error = np.abs(small(np.arange(V)) - form(np.arange(V)))
    assert (error <= bound + 1e-5).all()
    assert error.max() > 0.05 * bound.max()  # the bound says something


def part_error(form, part):
    return np.abs(part(np.arange(V)) - form.part(np.arange(V))).astype(np.float64)


def test_a_part_that_is_small_already_gives_its_scale_away():
    part, table = dense(width=3)
    small = FactoredForm.from_parts(part.stored_as(), np.eye(3))
    assert "part/table_scale" in [array.name for array in small.storage()]
    smaller = small.stored_as()
    assert "part/table_scale" not in [array.name for array in smaller.storage()]
    assert smaller.stored_as() is smaller
    np.testing.assert_allclose(smaller(np.arange(V)), small(np.arange(V)), atol=1e-6)


def test_factors_of_factors():
    inner, table = low_rank(width=3)
    form = FactoredForm.from_parts(inner, numbers(3, 2, seed=5))
    np.testing.assert_allclose(form(np.arange(V)), table @ numbers(3, 2, seed=5), atol=1e-5)
    assert form.storage()[0].name == "part/part/table"


def test_refuses_what_does_not_fit():
    part = dense(width=3)[0]
    for kernel in (np.zeros((2, 4)), np.zeros(3), np.zeros((3, 2, 1))):
        with pytest.raises(ValueError, match=r"`kernel` must have the shape \(3, d\)"):
            FactoredForm.from_parts(part, kernel)
    with pytest.raises(ValueError, match="`kernel` must hold finite numbers only"):
        FactoredForm.from_parts(part, np.full((3, 2), np.nan))
    with pytest.raises(ValueError, match="`bias` must hold finite numbers only"):
        FactoredForm.from_parts(part, np.zeros((3, 2)), bias=np.full(2, np.inf))
    with pytest.raises(ValueError, match=f"`input_dim` must be the part's vocabulary, {V}"):
        FactoredForm(V + 1, 4, part)
    with pytest.raises(ValueError, match="`part` must be a form"):
        FactoredForm(V, 4, "part")
    with pytest.raises(ValueError, match="`precision` must be one of 'float32', 'int8'"):
        FactoredForm(V, 4, part, precision="int4")
