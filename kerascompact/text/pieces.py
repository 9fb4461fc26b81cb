"""Pieces of words in the slots of a perfect hash."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.core.characters import ALONE, MANY, MIX
from kerascompact.core.hash32 import fmix32
from kerascompact.text import perfect_hash
from kerascompact.text.character_map import CharacterMap

SEEDS, LONGEST = 64, 127  # a file has a size and a slot of 24 bits in one int32


class Pieces(NamedTuple):
    """The pieces that words can consist of, in the slots of a perfect hash.

    A piece of characters `u_j` that begins a word (`k = 0`) or continues one (`k = 1`) has the hash
    `m(sum_j u_j A_j + k A_L)` and the tag `sum_j u_j B_j + k B_L`, in int32 that wraps; `m(h)` is
    `(h xor h >> 15) 0x85EBCA6B` and its xor with itself `>> 13`. Of more than `2^15` pieces, the
    tag counts for the slot as well.

    `tags`: int32 `(n,)`, by slot. `ids`: the token in each slot, `(n,)`. `displacements`: int16
    `(b,)`, see `text.perfect_hash`. `factors`: `A` and `B`, int32 `(2, L + 1)`. `longest`: `L`.
    """

    tags: np.ndarray
    ids: np.ndarray
    displacements: np.ndarray
    factors: np.ndarray

    @property
    def longest(self) -> int:
        """Characters of the longest piece."""
        return self.factors.shape[1] - 1


def pieces_of(tokens: Mapping[str, int], prefix: str, characters: CharacterMap) -> Pieces:
    """Puts the tokens that a word can contain into slots.

    Others, such as `[unused7]` or a mark within a word, are left out.

    Args:
        tokens: Tokens with their ids.
        prefix: What tokens that continue a word begin with.
        characters: What code points become.

    Raises: ValueError, if no word can contain a token, or no seed gives all of them slots.
    """
    keys: list[tuple[np.ndarray, int, int]] = []
    for token, number in tokens.items():
        parts = [(token, 0)]
        if token.startswith(prefix):
            parts.append((token[len(prefix) :], 1))
        for letters, kind in parts:
            units = _units(letters, characters)
            if units is not None and not (kind and units[0] & ALONE):
                keys.append((units, kind, number))
    if not keys:
        checks.fail("tokenizer", "one with tokens that words can contain", [*tokens][:5])
    longest = max(len(units) for units, _, _ in keys)
    if longest > LONGEST:
        checks.fail("tokenizer", f"one with pieces of at most {LONGEST} characters", longest)
    table = np.zeros((len(keys), longest + 1), np.int32)
    for row, (units, kind, _) in zip(table, keys, strict=True):
        row[: len(units)] = units
        row[-1] = kind
    for seed in range(SEEDS):
        places = np.arange(1, 2 * (longest + 1) + 1) + 2 * (longest + 1) * seed
        factors = (fmix32(places) | np.uint32(1)).view(np.int32).reshape(2, -1)
        values = _mixed((table * factors[0]).sum(axis=1, dtype=np.int32))
        marks = (table * factors[1]).sum(axis=1, dtype=np.int32)
        more = marks if len(keys) > MANY else None  # of so many, some have the same hash
        moved = perfect_hash.displacements(values, more)
        if moved is not None:
            break
    else:
        checks.fail("tokenizer", f"one that {SEEDS} seeds can hash", f"{len(keys)} pieces")
    slots = perfect_hash.slots_of(values, moved, more)
    tags, ids = np.zeros(len(keys), np.int32), np.zeros(len(keys), np.int32)
    tags[slots] = marks
    ids[slots] = [number for _, _, number in keys]
    return Pieces(tags, ids, moved, factors)


def _units(letters: str, characters: CharacterMap) -> np.ndarray | None:
    """The characters of a piece; `None` if no word contains it."""
    if not letters:
        return None
    points = np.array([ord(letter) for letter in letters], np.int32)
    units = characters.units(points)
    alone = (units & ALONE) > 0
    same = (units & ~np.int32(ALONE)) == points
    return units if same.all() and (len(units) == 1 or not alone.any()) else None


def _mixed(values: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        values = (values ^ (values >> 15)) * np.int32(MIX)
    return values ^ (values >> 13)
