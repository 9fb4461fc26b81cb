"""Perfect hash: a slot of its own for each of `n` keys, in a table of `n` slots."""

import numpy as np

from kerascompact.core.characters import MANY
from kerascompact.core.hash32 import GOLDEN, int32

_TRIES = (256, 4096, 65536)  # displacements to try: the first ones nearly always do


def buckets_of(count: int) -> int:
    """Number of displacements for `count` keys: one for five of them, of many for four.

    >>> buckets_of(100), buckets_of(120_000)
    (20, 30000)
    """
    return -(-count // (5 if count <= MANY else 4))


def slots_of(
    values: np.ndarray, displacements: np.ndarray, more: np.ndarray | None = None
) -> np.ndarray:
    """The slot of each key, `(h xor g xor 0x9E3779B1 D[h mod b]) mod n`, in int32 that wraps.

    Args:
        values: Hashes `h` of the keys, int32 `(n,)`.
        displacements: Displacement `D` of each bucket, int16 `(b,)`.
        more: Other hashes `g` of the keys, int32 `(n,)`. Default: zeros.
    """
    own = displacements[values % np.int32(len(displacements))]
    values = values if more is None else values ^ more
    return (values ^ _spread(own)) % np.int32(len(values))


def displacements(values: np.ndarray, more: np.ndarray | None = None) -> np.ndarray | None:
    """Finds displacements with which every key has a slot of its own.

    Buckets get theirs one after the other, those with the most keys first.

    Args:
        values: Different hashes of the keys, int32 `(n,)`.
        more: Other hashes, with which some of the first may be the same.

    Returns: int16 `(b,)`, 3.2 bits a key, of many 4; `None` if two hashes are equal or a bucket
        finds no displacement: try another seed of the hash.

    >>> values = np.array([7, -3, 12345, 98, 2**30, -8], np.int32)
    >>> sorted(slots_of(values, displacements(values)).tolist())
    [0, 1, 2, 3, 4, 5]

    Reference: [Pibiri & Trani, SIGIR 2021](https://arxiv.org/abs/2104.10402), PTHash, sec. 3:
    displacements of buckets by xor. Differs: they are stored plainly, in 16 bits.
    """
    count = len(values)
    buckets = values % np.int32(buckets_of(count))
    values = values if more is None else values ^ more
    if more is None and len(np.unique(values)) < count:
        return None
    order = np.argsort(buckets, kind="stable")
    sizes = np.bincount(buckets, minlength=buckets_of(count))
    ends = np.cumsum(sizes)
    free = np.ones(count, bool)
    found = np.zeros(len(sizes), np.int16)
    tried = _spread(np.arange(_TRIES[-1]).astype(np.uint16).view(np.int16))
    for bucket in np.argsort(-sizes, kind="stable"):
        keys = values[order[ends[bucket] - sizes[bucket] : ends[bucket]]]
        place = _first_fit(keys, free, tried)
        if place is None:
            return None
        found[bucket] = np.uint16(place).astype(np.int16)
        free[(keys ^ tried[place]) % np.int32(count)] = False
    return found


def _first_fit(keys: np.ndarray, free: np.ndarray, tried: np.ndarray) -> int | None:
    """The first displacement that gives all keys of a bucket free slots, no two the same."""
    begin = 0
    for end in _TRIES:
        slots = (keys[:, None] ^ tried[begin:end]) % np.int32(len(free))
        for place in np.flatnonzero(free[slots].all(axis=0)):
            if len(np.unique(slots[:, place])) == len(keys):
                return begin + int(place)
        begin = end
    return None


def _spread(displacements: np.ndarray) -> np.ndarray:
    """Displacements with bits all over an int32."""
    with np.errstate(over="ignore"):
        return displacements.astype(np.int32) * np.int32(int32(GOLDEN))
