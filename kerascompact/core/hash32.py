"""The 32-bit integer hash `fmix32` in NumPy; `ops.hashing` has it for tensors."""

from typing import Any

import numpy as np

GOLDEN = 0x9E3779B1  # an odd number near 2**32 / golden ratio: what a hash so far is multiplied by
STEP = 0x7F4A7C15  # what tells places, or seeds, apart


def fmix32(numbers: np.ndarray) -> np.ndarray:
    """Mixes 32 bits so that each one of the result depends on all: the end of MurmurHash3.

    Args:
        numbers: Integers, any shape; taken modulo `2**32`.

    Returns: uint32, a permutation of all numbers; 0 stays 0.

    >>> fmix32(np.array([0, 1, 2]))
    array([         0, 1364076727,  821347078], dtype=uint32)

    Reference: [Appleby, MurmurHash3, 2011](https://github.com/aappleby/smhasher), `fmix32`.
    """
    with np.errstate(over="ignore"):  # of single numbers; arrays wrap silently
        mixed: Any = np.asarray(numbers).astype(np.uint32)
        mixed = (mixed ^ (mixed >> 16)) * np.uint32(0x85EBCA6B)
        mixed = (mixed ^ (mixed >> 13)) * np.uint32(0xC2B2AE35)
        return mixed ^ (mixed >> 16)


def multiplier(seed: int) -> int:
    """The odd int32 that tells the hashes of words by different seeds apart.

    >>> multiplier(1)
    -1761122989
    """
    return int32(int(fmix32(np.array([seed * STEP]))[0]) | 1)


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Mixes int32 numbers by three products and shifts: `a (a >> 16)`, `a = x ^ (x >> 16)`.

    Shifts are arithmetic, so that TFLite needs 4 operators where `fmix32` needs 14. 0 stays 0.

    >>> mixed(np.array([0, 70_000], np.int32))
    array([    0, 70001], dtype=int32)
    """
    both = numbers ^ (numbers >> 16)
    return both * (both >> 16)


def int32(number: int) -> int:
    """The int32 of the same 32 bits.

    >>> int32(0xFFFFFFFF)
    -1
    """
    number &= 0xFFFFFFFF
    return number - 2**32 if number >= 2**31 else number
