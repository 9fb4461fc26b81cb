"""Entries of one to eight bits against the formula in float64."""

import numpy as np
import pytest

from kerascompact.forms import PackedTableForm


def example(bits, rows=23, width=4, scale="row", seed=0):
    random = np.random.default_rng(seed)
    codes = random.integers(0, 2**bits, (rows, width))
    codes[0], codes[-1] = 2**bits - 1, 0
    scales = random.uniform(0.1, 2.0, (rows,) if scale == "row" else ()).astype(np.float32)
    table = scales[..., None].astype(np.float64) * (codes - (2**bits - 1) / 2)
    return PackedTableForm.from_codes(codes, scales, bits=bits), table


@pytest.mark.parametrize("scale", ["row", "table"])
@pytest.mark.parametrize(("bits", "width"), [*enumerate([1, 3, 4, 8, 3, 1, 8, 4], 1)])
def test_equals_the_formula(bits, scale, width):
    form, table = example(bits, 23, width, scale)
    assert form.scale == scale
    found = form(np.arange(23))
    np.testing.assert_allclose(found, table, rtol=1e-6)  # one float32 product
    assert np.all(found.numpy() != 0)
    np.testing.assert_array_equal(form(np.arange(23)[None])[0], found)


@pytest.mark.parametrize("bits", range(1, 9))
def test_storage_is_exactly_b_bits_an_entry_and_the_scales(bits):
    form, _ = example(bits)
    expected = {"codes": 23 * 4 * bits, "scales": 32 * 23}
    assert {array.name: array.total_bits for array in form.storage()} == expected
    assert 23 * 4 * bits <= 8 * form.codes.shape[0] < 23 * 4 * bits + 8 * 2
    form, _ = example(bits, scale="table")
    expected = {"codes": 23 * 4 * bits, "scales": 32}
    assert {array.name: array.total_bits for array in form.storage()} == expected


def test_there_is_nothing_left_to_quantize():
    form, _ = example(4)
    assert form.stored_as("int8") is form and form.stored_as("int4") is form


@pytest.mark.parametrize(
    ("codes", "scales"), [((3,), (3,)), ((3, 2), (2,)), ((3, 2), (3, 1)), ((3, 2, 1), ())]
)
def test_refuses_shapes_that_do_not_fit(codes, scales):
    with pytest.raises(ValueError, match=r"`codes` must be a matrix \(V, d\), and `scales`"):
        PackedTableForm.from_codes(np.zeros(codes, int), np.ones(scales), bits=2)


@pytest.mark.parametrize("bits", [0, 9, 2.0, True, None])
def test_refuses_bits(bits):
    with pytest.raises(ValueError, match=r"`bits` must be an integer in \[1, 8\]"):
        PackedTableForm(3, 2, bits)


def test_refuses_what_cannot_be_stored():
    with pytest.raises(ValueError, match="`scale` must be one of 'row', 'table'"):
        PackedTableForm(3, 2, 4, scale="column")
    with pytest.raises(ValueError, match=r"`codes` must lie in \[0, 4\)"):
        PackedTableForm.from_codes(np.full((3, 2), 4), np.ones(3), bits=2)
    with pytest.raises(ValueError, match="`scales` must hold finite numbers only"):
        PackedTableForm.from_codes(np.zeros((3, 2), int), np.full(3, np.nan), bits=2)
    with pytest.raises(ValueError, match=r"`input_dim` must be an integer in \[1, 894783\]"):
        PackedTableForm(10**6, 300, 8)
