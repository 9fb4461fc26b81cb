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
