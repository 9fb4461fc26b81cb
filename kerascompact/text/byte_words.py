"""Words of many texts, cut from their bytes in NumPy, as `ops.byte_text` does in a graph."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.core.byte_rules import ALONE, JOINED, ByteRules


class ByteWords(NamedTuple):
    """The words of some texts, one text after another.

    `units`: the bytes of all texts, folded, each text followed by a line break, uint8 `(bytes,)`.
    `first`: where each word begins in
    `units`, int64 `(words,)`. `owners`: the text of each word, `(words,)`. `ranks`: its place among
    the words of its text, `(words,)`.
    """

    units: np.ndarray
    first: np.ndarray
    owners: np.ndarray
    ranks: np.ndarray


def utf8(name: str, text: str) -> bytes:
    """The bytes of a text; lone surrogates of broken UTF-8 become the bytes that they stand for.

    Raises: ValueError, if the text has other lone surrogates.

    >>> utf8("text", "caf\u00e9")
    b'caf\\xc3\\xa9'
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        checks.fail(name, "a str that UTF-8 can hold", text)


def split(texts: Sequence[bytes], rules: ByteRules) -> ByteWords:
    """Finds the words of texts given as bytes.

    Args:
        texts: UTF-8, or any bytes.
        rules: The token rules as tables.

    >>> from kerascompact.text.byte_rules import byte_rules
    >>> split([b"Turn it up!", b"", b"No"], byte_rules("wordpunct")).first
    array([ 0,  5,  8, 10, 13])
    """
    data = np.frombuffer(b"\n".join([*texts, b""]), np.uint8)
    units = rules.folding[data]
    kinds = rules.kinds[units]
    before = np.concatenate([np.zeros(1, kinds.dtype), kinds[:-1]])
    starts = kinds != before
    if JOINED in rules.kinds:
        starts &= (kinds != JOINED) | (before < JOINED)
    if rules.kinds.max() >= ALONE:
        starts |= kinds >= ALONE
    for ending in rules.endings:
        starts |= _begins(units, ending)
    first = np.flatnonzero(starts & (kinds != 0))
    ends = np.cumsum(np.fromiter((len(text) + 1 for text in texts), np.int64, len(texts)))
    owners = np.searchsorted(ends, first, "right")
    before = np.searchsorted(first, np.concatenate([np.zeros(1, np.int64), ends]))
    return ByteWords(units, first, owners, np.arange(len(first)) - before[owners])


def _begins(units: np.ndarray, ending: bytes) -> np.ndarray:
    """Where the bytes of an ending begin, bool `(bytes,)`."""
    found = np.zeros(len(units), bool)
    places = np.flatnonzero(units == ending[0])
    places = places[places <= len(units) - len(ending)]
    for distance, byte in enumerate(ending):
        places = places[units[places + distance] == byte]
    found[places] = True
    return found
