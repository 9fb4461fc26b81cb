"""Rounded tables: how far off at most, and what is refused."""

import numpy as np
import pytest

from kerascompact.core.quantize import quantize_columns


def table(rows=200, columns=7):
    numbers = np.random.default_rng(0).normal(size=(rows, columns)) * 10.0 ** np.arange(columns)
    return numbers.astype(np.float32)


def test_scale_and_codes_are_those_of_the_formula():
    codes, scale = quantize_columns(table())
    assert codes.dtype == np.int8 and scale.dtype == np.float32
    largest = np.abs(table().astype(np.float64)).max(axis=0)
    np.testing.assert_allclose(scale, largest / 127, rtol=1e-6)
    assert np.abs(codes.astype(int)).max(axis=0).tolist() == [127] * 7


def test_no_entry_is_off_by_more_than_half_a_scale():
    codes, scale = quantize_columns(table())
    error = np.abs(codes.astype(np.float64) * scale - table())
    assert (error.max(axis=0) <= 0.5 * scale * (1 + 1e-4)).all()  # the quotient is a float32
    assert (error.max(axis=0) > 0.4 * scale).all()  # 200 rows come near it


def test_is_symmetric_and_never_uses_minus_128():
    codes, scale = quantize_columns(np.array([[1.0, -2.0], [-1.0, 2.0]]))
    assert codes.tolist() == [[127, -127], [-127, 127]]
    np.testing.assert_allclose(scale, [1 / 127, 2 / 127], rtol=1e-6)


@pytest.mark.parametrize("rows", [0, 3])
def test_a_column_of_zeros_has_scale_one(rows):
    codes, scale = quantize_columns(np.zeros((rows, 2)))
    assert scale.tolist() == [1, 1] and not codes.any() and codes.shape == (rows, 2)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("size", [1e-44, 1e-38, 1e38])
def test_the_ends_of_float32(size, bits):
    numbers = np.array([[size, 0], [-size, size]], np.float32)
    codes, scale = quantize_columns(numbers, bits)
    assert np.isfinite(scale).all() and (scale > 0).all()
    error = np.abs(codes.astype(np.float64) * scale - numbers)
    assert (error <= scale.astype(np.float64) / 2 * (1 + 1e-4)).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_rejects_numbers_that_are_not_finite(bad):
    with pytest.raises(ValueError, match="`table` must hold finite numbers only.*1 of 4 entries"):
        quantize_columns(np.array([[1.0, bad], [2.0, 3.0]]))


@pytest.mark.parametrize(("bits", "largest"), [(2, 1), (4, 7), (6, 31)])
def test_few_bits_have_the_scale_of_least_squared_error(bits, largest):
    codes, scale = quantize_columns(table(), bits)
    assert np.abs(codes.astype(int)).max(axis=0).tolist() == [largest] * 7
    error = np.square(codes.astype(np.float64) * scale - table()).sum(axis=0)
    whole = np.abs(table()).max(axis=0) / largest
    for fraction in (1, 0.9, 0.8, 0.7, 0.6, 0.5):
        step = (fraction * whole).astype(np.float64)
        other = np.clip(np.rint(table() / step), -largest, largest) * step - table()
        assert (error <= np.square(other).sum(axis=0) * (1 + 1e-5)).all()


def test_a_large_table_is_rounded_by_a_sample_of_its_rows():
    codes, scale = quantize_columns(np.tile(table(), (50, 1)), 4)
    alone = quantize_columns(table(), 4)
    np.testing.assert_array_equal(scale, alone[1])
    np.testing.assert_array_equal(codes[:200], alone[0])


def test_several_tables_are_rounded_each_for_itself():
    tables = np.stack([table(), 3 * table()[::-1]])
    for bits in (4, 8):
        codes, scale = quantize_columns(tables, bits)
        for index in range(2):
            alone = quantize_columns(tables[index], bits)
            np.testing.assert_array_equal(codes[index], alone[0])
            np.testing.assert_array_equal(scale[index], alone[1])


@pytest.mark.parametrize("bits", [1, 9, 4.0, None])
def test_rejects_bits(bits):
    with pytest.raises(ValueError, match=r"`bits` must be an integer in \[2, 8\]"):
        quantize_columns(table(), bits)
