"""Storage costs in bits."""

import math
from collections.abc import Iterable
from typing import NamedTuple


class Stored(NamedTuple):
    """One stored array: `bits` for each element of `shape`, `row_padding` more for each row.

    >>> Stored("codes", (3000,), 6).total_bits, Stored("table", (10, 3), 4, 4).total_bits
    (18000, 160)
    """

    name: str
    shape: tuple[int, ...]
    bits: int
    row_padding: int = 0

    @property
    def total_bits(self) -> int:
        return math.prod(self.shape) * self.bits + math.prod(self.shape[:-1]) * self.row_padding


def total_bits(stored: Iterable[Stored]) -> int:
    """Bits of all arrays together.

    >>> total_bits([Stored("codes", (3000,), 6), Stored("codebook", (50, 5), 32)])
    26000
    """
    return sum(array.total_bits for array in stored)


def kib(bits: float) -> float:
    """Bits as KiB of 1,024 bytes.

    >>> kib(8 * 2048)
    2.0
    """
    return bits / 8 / 1024


def code_bits(cardinality: int) -> int:
    """Bits that tell `cardinality` values apart: `ceil(log2(cardinality))`.

    >>> [code_bits(k) for k in (2, 3, 50, 64, 65)]
    [1, 2, 6, 6, 7]
    """
    return (cardinality - 1).bit_length()
