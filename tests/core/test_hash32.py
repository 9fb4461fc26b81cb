import numpy as np

from kerascompact.core.hash32 import fmix32, int32


def by_hand(number):
    mask = 0xFFFFFFFF
    number &= mask
    number = (number ^ number >> 16) * 0x85EBCA6B & mask
    number = (number ^ number >> 13) * 0xC2B2AE35 & mask
    return number ^ number >> 16


def test_mixes_as_whole_numbers_do():
    numbers = np.array([0, 1, -1, 2**31, 2**32 - 1, 2**40 + 5, -(2**35)])
    assert fmix32(numbers).tolist() == [by_hand(int(number)) for number in numbers]
    assert int(fmix32(np.int64(5))) == by_hand(5)


def test_is_a_permutation():
    assert len(np.unique(fmix32(np.arange(2**16) << 16))) == 2**16


def test_takes_the_same_bits():
    assert [int32(number) for number in (0, 2**31, 2**32 + 5, -1)] == [0, -(2**31), 5, -1]
