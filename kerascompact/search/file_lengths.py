"""What the file of a pick of candidates takes at least, told from the files of other picks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kerascompact.search.parts import Candidate

NEAR = 512  # bytes by which files of the same kinds of forms may differ, besides their arrays
Pick = tuple[Candidate, ...]  # a candidate for each part, then one for each layer of other kernels


class Lengths:
    """The least bytes that files can have, from the files of other picks.

    What a file has besides its arrays is taken as a sum over the kinds of its forms. A pick is
    predicted only if that sum follows from files that were built; of others, the bytes are those of
    the arrays and of the plainest graph among these.
    """

    def __init__(self, choices: Sequence[Sequence[Candidate]]) -> None:
        every = [(i, one) for i, candidates in enumerate(choices) for one in candidates]
        self.kinds = {id(one): (i, *_kind(one)) for i, one in every}
        columns = {kind: 1 + i for i, kind in enumerate(dict.fromkeys(self.kinds.values()))}
        self.columns = {one: columns[kind] for one, kind in self.kinds.items()}
        self.width = 1 + len(columns)
        self.rows: list[np.ndarray] = []
        self.beside: list[int] = []  # bytes besides the arrays

    def learn(self, pick: Pick, size: int) -> None:
        """Takes the bytes of the file of a pick."""
        self.rows.append(self._row(pick))
        self.beside.append(size - bytes_of(pick))

    def least(self, pick: Pick) -> float:
        """The least bytes that the file of a pick can have, as far as built ones tell."""
        row, known = self._row(pick), np.array(self.rows).T
        shares = np.linalg.lstsq(known, row, rcond=None)[0]
        beside = float(min(self.beside))
        if np.allclose(known @ shares, row, atol=1e-6):
            beside = max(beside, shares @ self.beside - NEAR * np.abs(shares).sum())
        return bytes_of(pick) + beside

    def _row(self, pick: Pick) -> np.ndarray:
        row = np.zeros(self.width)
        row[[0, *(self.columns[id(one)] for one in pick)]] = 1
        return row


def _kind(one: Candidate) -> tuple[Any, ...]:
    """What candidates with the same operators have in common."""
    if one.form is None:
        return (one.name,)
    return type(one.form), *((array.name, array.bits) for array in one.form.storage())


def bytes_of(pick: Pick) -> int:
    """Bytes of the arrays of a pick."""
    return sum(one.bytes for one in pick)
