"""Files as a bad disk, a broken download or an attacker leaves them."""

import numpy as np

NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF)


def damaged(data, count, seed=0):
    """`count` damaged copies: cut, bits flipped, numbers overwritten, blocks moved or emptied."""
    random = np.random.default_rng(seed)
    kinds = (cut, flip_one, flip_one, flip_some, overwrite, overwrite, clear, move)
    for index in range(count):
        yield bytes(kinds[index % len(kinds)](bytearray(data), random))


def cut(data, random):
    return data[: int(random.integers(len(data)))]


def flip_one(data, random, times=1):
    for place in random.integers(len(data), size=times):
        data[place] ^= 1 << int(random.integers(8))
    return data


def flip_some(data, random):
    return flip_one(data, random, int(random.integers(2, 40)))


def overwrite(data, random):
    """A 32-bit number, where the format has them, by one that is often a limit."""
    place = 4 * int(random.integers(len(data) // 4 - 1))
    data[place : place + 4] = int(random.choice(NUMBERS)).to_bytes(4, "little")
    return data


def clear(data, random):
    place, size = random.integers(len(data)), random.integers(1, 64)
    data[place : place + size] = bytes(len(data[place : place + size]))
    return data


def move(data, random):
    size = 4 * int(random.integers(1, 16))
    start, end = 4 * random.integers((len(data) - size) // 4, size=2)
    data[end : end + size] = data[start : start + size]
    return data
