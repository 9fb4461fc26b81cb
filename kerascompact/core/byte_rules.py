"""Token rules as tables over bytes, the only kind that a file can hold."""

from typing import NamedTuple

import numpy as np

ALONE = 128  # kinds from here on: each character is a token of its own
JOINED = 127  # the kind of bytes inside a character that is a token of its own


class ByteRules(NamedTuple):
    """How bytes become tokens; `text.byte_rules` makes them, `ops.byte_text` follows them.

    A token begins at a byte that is no white space and of another kind than the byte before it, at
    one of a kind that stands alone, and where an ending begins; at a `JOINED` byte only behind
    ASCII, where valid UTF-8 has none.

    `folding`: what each byte counts as, uint8 `(256,)`. `kinds`: the kind of each byte, folded,
    uint8 `(256,)`: 0 is white space, those from `ALONE` stand alone, with the `JOINED` bytes that
    follow. `endings`: what is set off
    inside a word, such as `n't`, folded.
    """

    folding: np.ndarray
    kinds: np.ndarray
    endings: tuple[bytes, ...]

    @property
    def without_nul(self) -> "ByteRules":
        """The same rules with NUL as white space, so that zeros may follow a text."""
        kinds = self.kinds.copy()
        kinds[0] = 0
        return self._replace(kinds=kinds)

    @property
    def two_kinds(self) -> bool:
        """Whether tokens are runs of at most two kinds of bytes, and nothing else cuts them."""
        return int(self.kinds.max()) <= 2 and not self.endings

    @property
    def units(self) -> np.ndarray:
        """A number for each byte, int32 `(256,)`: 0 for white space, equal for equal folded bytes.

        With `two_kinds`, those of the first kind are negative and those of the second positive, so
        that the sign is the kind. Inside a token all have one sign: the sums of its first 1, 2, ...
        numbers are distinct, and tell its bytes.

        >>> halves = ByteRules(np.arange(256), np.arange(256) // 100, ())
        >>> halves.units[[0, 99, 100, 101, 200, 255]]
        array([ 0,  0, -1, -2,  1, 56], dtype=int32)
        """
        units = np.zeros(256, np.int32)
        kinds = self.kinds[self.folding]
        for kind in (1, 2) if self.two_kinds else (None,):
            members = kinds == kind if kind else kinds != 0
            folded = np.unique(self.folding[members])
            numbers = 1 + np.searchsorted(folded, self.folding[members])
            units[members] = -numbers if kind == 1 and self.kinds.max() == 2 else numbers
        return units
