"""Files as a bad disk, a broken download or an attacker leaves them: their bytes damaged."""

from collections.abc import Callable, Iterator

import numpy as np

NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


def cut(data: bytearray, random: np.random.Generator) -> bytearray:
    """Drops the end of the file."""
    return data[: int(random.integers(len(data)))]


def flip_one(data: bytearray, random: np.random.Generator, times: int = 1) -> bytearray:
    """Flips `times` bits."""
    for place in random.integers(len(data), size=times):
        data[place] ^= 1 << int(random.integers(8))
    return data


def flip_some(data: bytearray, random: np.random.Generator) -> bytearray:
    """Flips 2 to 39 bits."""
    return flip_one(data, random, int(random.integers(2, 40)))


def overwrite(data: bytearray, random: np.random.Generator) -> bytearray:
    """Replaces a 32-bit number, where the format has them, by one that is often a limit."""
    place = 4 * int(random.integers(len(data) // 4 - 1))
    data[place : place + 4] = int(random.choice(NUMBERS)).to_bytes(4, "little")
    return data


def clear(data: bytearray, random: np.random.Generator) -> bytearray:
    """Sets up to 63 bytes in a row to zero."""
    place, size = random.integers(len(data)), random.integers(1, 64)
    data[place : place + size] = bytes(len(data[place : place + size]))
    return data


def move(data: bytearray, random: np.random.Generator) -> bytearray:
    """Copies up to 15 numbers to another place."""
    size = 4 * int(random.integers(1, 16))
    start, end = 4 * random.integers((len(data) - size) // 4, size=2)
    data[end : end + size] = data[start : start + size]
    return data


KINDS: tuple[Callable[[bytearray, np.random.Generator], bytearray], ...] = (
    cut, flip_one, flip_one, flip_some, overwrite, overwrite, clear, move,
)  # fmt: skip


def damaged(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Damaged copies of a file: cut, bits flipped, numbers overwritten, blocks moved or emptied.

    Args:
        data: The file.
        count: How many copies.
        seed: Seed of the damage.

    >>> [len(copy) for copy in damaged(bytes(100), 3)]
    [85, 100, 100]
    """
    random = np.random.default_rng(seed)
    for index in range(count):
        yield bytes(KINDS[index % len(KINDS)](bytearray(data), random))
