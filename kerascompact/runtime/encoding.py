"""UTF-8 encoding of a text as the integers that a text-in file takes."""

from typing import NamedTuple

import numpy as np

from kerascompact.core import checks

SHIELD = -1  # no byte: behind a text that ends in zeros, it tells them from padding


class Encoded(NamedTuple):
    """`numbers`: int32 `(1, n)`. `used`: how many bytes of the text they hold."""

    numbers: np.ndarray
    used: int


def encode(text: str | bytes, max_bytes: int | None = None) -> Encoded:
    r"""The UTF-8 bytes of a text, padded with zeros at the end if there is a fixed number.

    A file drops zeros at the end, so that an app may fill its array with them; a text that itself
    ends in NUL characters gets a -1, which is padding as well, behind them.

    Args:
        text: A `str`, or bytes, which may be any.
        max_bytes: Length of the array; longer texts are cut. `None`: that of the text.

    >>> encode("caf\u00e9", 8).numbers
    array([[ 99,  97, 102, 195, 169,   0,   0,   0]], dtype=int32)
    """
    if not isinstance(text, str | bytes):
        checks.fail("text", "a str or bytes", text)
    # Python hands on bytes that are no UTF-8 as lone surrogates.
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    size = max_bytes or max(1, len(data) + data.endswith(b"\0"))
    kept = data[:size]
    if kept.endswith(b"\0"):
        kept = kept[: size - 1]
    row = np.zeros((1, size), np.int32)
    row[0, : len(kept)] = np.frombuffer(kept, np.uint8)
    if len(kept) < size and data[: len(kept)].endswith(b"\0"):
        row[0, len(kept)] = SHIELD
    return Encoded(row, len(kept))
