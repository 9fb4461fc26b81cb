"""Slots of words: where a file keeps a word's tag, and which words get which slot."""

from collections import deque

import numpy as np

from kerascompact.core.hash32 import fmix32

CHOICES = 3  # slots that a word may have
TAGS = 255  # different tags; 0 is in slots without a word
SHIFT = 8  # lower bits of a product, which depend on few bits of a hash
_ROUNDS = 20


def multipliers() -> np.ndarray:
    """The odd numbers that turn a word's hash into those of its slots, int32 `(CHOICES,)`."""
    return (fmix32(np.arange(1, CHOICES + 1)) | np.uint32(1)).view(np.int32)


def slots_of(values: np.ndarray, count: int) -> np.ndarray:
    """Slots that words may have, `s_j = (m_j h >> 8) mod n` in int32 that wraps.

    Args:
        values: Hashes of words, int32 `(words,)`.
        count: Number of slots `n`.

    Returns: int32 `(words, CHOICES)`.

    >>> slots_of(np.array([7], np.int32), 100).shape
    (1, 3)
    """
    return ((values[..., None] * multipliers()) >> SHIFT) % np.int32(count)


def tags_of(values: np.ndarray) -> np.ndarray:
    """Tags of words, `1 + h mod 255`, uint8 of the same shape."""
    return (1 + values % np.int32(TAGS)).astype(np.uint8)


def find(values: np.ndarray, tags: np.ndarray) -> np.ndarray:
    """The slot of each word: of its slots the last one that holds its tag; -1, if none does.

    Args:
        values: Hashes of words, int32 `(words,)`.
        tags: Tags in the slots, uint8 `(n,)`; 0 where there is no word.

    >>> tags = np.zeros(10, np.uint8)
    >>> value = np.array([7], np.int32)
    >>> place = slots_of(value, 10)[0, 1]
    >>> tags[place] = tags_of(value)[0]
    >>> bool(find(value, tags)[0] == place)
    True
    """
    slots = slots_of(values, len(tags))
    return np.where(tags[slots] == tags_of(values)[..., None], slots, -1).max(axis=-1)


def place(values: np.ndarray, count: int) -> np.ndarray:
    """Gives slots to words, first to the first, so that `find` finds every word that has one.

    A word takes one of its slots, and moves others to another of theirs if it must. The words that
    get a slot are the best that can have slots together: the first, then each next that still fits
    (a greedy choice is optimal here, as in any transversal matroid). Words that `find` would take
    for another one are left out.

    Args:
        values: Hashes of words, best first, int32 `(words,)`.
        count: Number of slots.

    Returns: The word in each slot, int64 `(count,)`, -1 for none.

    >>> sorted(place(np.array([5, -9, 7], np.int32), 40).tolist())[-3:]
    [0, 1, 2]

    Reference: slots and tags: cuckoo filter, [Fan et al., CoNEXT 2014](
    https://doi.org/10.1145/2674005.2674994), sec. 4; who gets one: [Edmonds & Fulkerson, 1965](
    https://doi.org/10.6028/jres.069B.016).
    """
    slots, left_out = slots_of(values, count), np.zeros(len(values), bool)
    inside = np.full(count, -1)
    for _ in range(_ROUNDS):
        inside = _matched(slots, inside, left_out)
        taken = np.flatnonzero(inside >= 0)
        tags = np.zeros(count, np.uint8)
        tags[taken] = tags_of(values)[inside[taken]]
        mistaken = find(values[inside[taken]], tags) != taken
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
