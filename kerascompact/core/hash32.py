"""The 32-bit integer hash `fmix32` in NumPy; `ops.hashing` has it for tensors."""

from typing import Any

import numpy as np

GOLDEN = 0x9E3779B1  # an odd number near 2**32 / golden ratio: what a hash so far is multiplied by
MIX = 13  # places that `mixed` shifts by
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

    The first of some whose products with the numbers of all bytes are far from 0, which `mixed`
    turns numbers near 0 into.

    >>> multiplier(1)
    1270938603
    """
    numbers = np.arange(1, 256, dtype=np.int64)
    state = seed * STEP
    while True:
        state = int(fmix32(np.array([state]))[0])
        found = int32(state | 1)
        products = (numbers * found).astype(np.int32).astype(np.int64)
        if np.abs(products).min() >= 1 << 20:
            return found


def mixed(numbers: np.ndarray) -> np.ndarray:
    """Mixes int32 numbers by two shifts and a product: `a (a >> 13)`, `a = x ^ (x >> 13)`.

    Shifts are arithmetic, so that TFLite needs 4 operators where `fmix32` needs 14. 0 stays 0.

    >>> mixed(np.array([0, 70_000], np.int32))
    array([     0, 560064], dtype=int32)
    """
    both = numbers ^ (numbers >> MIX)
    return both * (both >> MIX)


def int32(number: int) -> int:
    """The int32 of the same 32 bits.

    >>> int32(0xFFFFFFFF)
    -1
    """
    number &= 0xFFFFFFFF
    return number - 2**32 if number >= 2**31 else number
