"""Bits by hand."""

import math

import pytest

from kerascompact.core.storage import Stored, code_bits, kib, total_bits


@pytest.mark.parametrize("shape, elements", [((), 1), ((7,), 7), ((3, 4, 5), 60), ((0, 9), 0)])
def test_total_bits_of_one_array(shape, elements):
    assert Stored("array", shape, 3).total_bits == 3 * elements


def test_total_bits_of_the_papers_clusters():
    """V = 3,000 words pointing into k = 50 clusters of width m = 5."""
    stored = [Stored("codes", (3000,), code_bits(50)), Stored("codebook", (50, 5), 32)]
    assert total_bits(stored) == 3000 * math.ceil(math.log2(50)) + 50 * 5 * 32
    assert total_bits([]) == 0


def test_kib_is_1024_bytes():
    assert kib(8 * 1024) == 1
    assert kib(4 * 1024) == 0.5


@pytest.mark.parametrize("cardinality", [1, 2, 3, 4, 50, 63, 64, 65, 255, 256, 257, 2**31])
def test_code_bits_tell_the_values_apart_and_one_bit_less_does_not(cardinality):
    bits = code_bits(cardinality)
    assert 2**bits >= cardinality
    assert bits == 0 or 2 ** (bits - 1) < cardinality
