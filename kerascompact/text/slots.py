"""Slots of words: where a file keeps a word's tag, and which words get which slot."""

from collections import deque

import numpy as np

CHOICES = 3  # slots that a word may have
TAG_BITS = (8, 16, 24)
EMPTY = 1  # the tag of a slot without a word
_ROUNDS = 20


def moduli(count: int) -> np.ndarray:
    """What the slots of a word are its hash modulo, `n`, `n - 1`, `n - 2`, int32 `(CHOICES,)`.

    Neighbours have no common divisor, so that the slots of a word do not depend on each other.

    >>> moduli(100)
    array([100,  99,  98], dtype=int32)
    """
    return np.maximum(count - np.arange(CHOICES), 1).astype(np.int32)


def slots_of(values: np.ndarray, count: int) -> np.ndarray:
    """Slots that words may have, `s_j = h mod (n + 1 - j)`.

    Args:
        values: Hashes of words, int32 `(words,)`.
        count: Number of slots `n`.

    Returns: int32 `(words, CHOICES)`.

    >>> slots_of(np.array([205], np.int32), 100)
    array([[5, 7, 9]], dtype=int32)
    """
    return values[..., None] % moduli(count)


def tags_of(values: np.ndarray, bits: int = 8) -> np.ndarray:
    """Tags of words, the upper bits of their hashes, `h >> (32 - bits)`, int32 of the same shape.

    >>> tags_of(np.array([5 << 24, -1], np.int32))
    array([ 5, -1], dtype=int32)
    """
    return values >> (32 - bits)


def tags_in(values: np.ndarray, bits: int = 8) -> np.ndarray:
    """Tags as slots hold them, int32, by the hashes of the words in the slots.

    Hash 0, for no word, becomes `EMPTY`; so does tag 0 in slot 0, where a file would find the
    padding of a text.

    >>> tags_in(np.array([0, 0, 5 << 24], np.int32))
    array([1, 1, 5], dtype=int32)
    """
    tags = np.where(values == 0, EMPTY, tags_of(values, bits))
    tags[:1] = np.where(tags[:1] == 0, EMPTY, tags[:1])
    return tags


def find(values: np.ndarray, tags: np.ndarray, bits: int = 8) -> np.ndarray:
    """The slot of each word: the last of its slots that holds its tag; -1, if none does.

    Args:
        values: Hashes of words, int32 `(words,)`.
        tags: Tags in the slots, int32 `(n,)`, see `tags_in`.
        bits: Bits of a tag.

    >>> value, tags = np.array([7 << 24], np.int32), np.zeros(10, np.int32)
    >>> place = slots_of(value, 10)[0, 1]
    >>> tags[place] = tags_of(value)[0]
    >>> bool(find(value, tags)[0] == place)
    True
    """
    slots = slots_of(values, len(tags))
    return np.where(tags[slots] == tags_of(values, bits)[..., None], slots, -1).max(axis=-1)


def place(values: np.ndarray, count: int, bits: int = 8) -> np.ndarray:
    """Gives slots to words, first to the first, so that `find` finds every word that has one.

    A word takes one of its slots, and moves others to another of theirs if it must. The words that
    get a slot are the best that can have slots together: the first, then each next that still fits
    (a greedy choice is optimal here, as in any transversal matroid). Words that `find` would take
    for another one are left out, and those of hash 0, which means no word.

    Args:
        values: Hashes of words, best first, int32 `(words,)`.
        count: Number of slots.
        bits: Bits of a tag.

    Returns: The word in each slot, int64 `(count,)`, -1 for none.

    >>> sorted(place(np.array([5, -9, 7], np.int32), 40).tolist())[-3:]
    [0, 1, 2]

    Reference: slots and tags: cuckoo filter, [Fan et al., CoNEXT 2014](
    https://doi.org/10.1145/2674005.2674994), sec. 4; who gets one: [Edmonds & Fulkerson, 1965](
    https://doi.org/10.6028/jres.069B.016).
    """
    slots, left_out = slots_of(values, count), values == 0
    inside = np.full(count, -1)
    for _ in range(_ROUNDS):
        inside = _matched(slots, inside, left_out)
        taken = np.flatnonzero(inside >= 0)
        held = np.zeros(count, np.int32)
        held[taken] = values[inside[taken]]
        mistaken = find(held[taken], tags_in(held, bits), bits) != taken
        if not mistaken.any():
            return inside
        left_out[inside[taken[mistaken]]] = True
        inside[taken[mistaken]] = -1
    return inside


def _matched(slots: np.ndarray, inside: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Matches words to slots in order, by augmenting paths.

    Words that are inside stay: the best without some are those of the best that remain, and more.
    """
    waiting = ~left_out
    waiting[inside[inside >= 0]] = False
    free, closed = int((inside < 0).sum()), bytearray(len(inside))
    choices, found = slots.tolist(), inside.tolist()
    for word in np.flatnonzero(waiting).tolist():
        if not free:
            break
        free -= _augment(word, choices, found, closed)
    return np.array(found)


def _augment(word: int, choices: list[list[int]], inside: list[int], closed: bytearray) -> bool:
    """Finds a slot for a word, moving others, breadth first; or closes all that it reached.

    Slots from which no free one can be reached stay so: no later word has to try them.
    """
    came_from: dict[int, tuple[int, int]] = {}  # the word that wants a slot, and where it is now
    waiting = deque([(word, -1)])
    while waiting:
        asking, at = waiting.popleft()
        for slot in choices[asking]:
            if closed[slot] or slot in came_from:
                continue
            came_from[slot] = asking, at
            if inside[slot] >= 0:
                waiting.append((inside[slot], slot))
                continue
            while slot >= 0:
                inside[slot], slot = came_from[slot]
            return True
    for slot in came_from:
        closed[slot] = 1
    return False
