"""Packed pointers, of every width that matters."""

import math

import numpy as np
import pytest

from form_examples import codebook, numbers
from kerascompact.forms import CodebookForm

CARDINALITIES = [2, 3, 50, 255, 256, 257, 65536]


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_equals_the_rows_that_the_codes_name(cardinality):
    codes = np.random.default_rng(0).integers(0, cardinality, 300)
    codes[:2], codes[-1] = [0, cardinality - 1], cardinality - 1
    vectors = numbers(cardinality, 2)
    form = CodebookForm.from_codes(codes, vectors)
    np.testing.assert_array_equal(form(np.arange(300)), vectors[codes])
    scale = np.abs(vectors).max(axis=0) / 127
    rounded = (np.rint(vectors / scale) * scale)[codes]
    # float32 division and product: two roundings of 2**-24, relative
    np.testing.assert_allclose(form.quantize()(np.arange(300)), rounded, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_storage_is_ceil_log2_bits_per_code_and_the_codebook(cardinality):
    form, _ = codebook(300, 3, cardinality)
    pointers = 300 * math.ceil(math.log2(cardinality))
    stored = {array.name: array.total_bits for array in form.storage()}
    assert stored == {"codes": pointers, "codebook": 32 * cardinality * 3}
    stored = {array.name: array.total_bits for array in form.quantize().storage()}
    assert stored == {"codes": pointers, "codebook": 8 * cardinality * 3, "codebook_scale": 32 * 3}


@pytest.mark.parametrize("cardinality", CARDINALITIES)
def test_codes_are_held_packed(cardinality):
    """At most the two bytes that a read may touch past the end, and part of the last byte."""
    form, _ = codebook(300, 3, cardinality)
    bits = 300 * math.ceil(math.log2(cardinality))
    assert form.codes.dtype == "uint8"
    assert bits <= 8 * form.codes.shape[0] < bits + 8 * 3


def test_a_single_word():
    form = CodebookForm.from_codes(np.array([1]), np.eye(2))
    assert form(np.array([0, 0])).numpy().tolist() == [[0, 1], [0, 1]]


@pytest.mark.parametrize("code", [3, -1])
def test_refuses_codes_without_a_row(code):
    with pytest.raises(ValueError, match=rf"`codes` must lie in \[0, 3\).*an id of {code}\."):
        CodebookForm.from_codes(np.array([0, code]), np.zeros((3, 2)))


def test_refuses_a_codebook_with_nan():
    with pytest.raises(ValueError, match="`codebook` must hold finite numbers only"):
        CodebookForm.from_codes(np.array([0, 1]), np.array([[1.0], [np.nan]]))


@pytest.mark.parametrize("cardinality", [0, 1, 2**16 + 1, 2.0, True])
def test_refuses_cardinality(cardinality):
    with pytest.raises(ValueError, match=r"`cardinality` must be an integer in \[2, 65536\]"):
        CodebookForm(5, 2, cardinality)


def test_refuses_more_words_than_int32_bit_numbers():
    last = 2**31 // 6 - 1
    assert CodebookForm(last, 2, 50).input_dim == last  # not built: 1.6 GB
    with pytest.raises(ValueError, match=rf"`input_dim` must be an integer in \[1, {last}\]"):
        CodebookForm(last + 1, 2, 50)
