"""UTF-8 encoding of a text as the integer input of a file that takes text."""

from typing import NamedTuple

import numpy as np

from kerascompact.core import checks

STEP = 64  # bytes: texts of similar lengths have one shape, and the runtime plans memory once
SHIELD = -1  # end mark of a text that ends in NUL characters, which would count as padding


class Encoded(NamedTuple):
    """Encoded text: `numbers` int32 `(1, n)`, which hold the first `used` bytes of the text."""

    numbers: np.ndarray
    used: int


def encode(text: str | bytes, max_bytes: int | None = None) -> Encoded:
    r"""Turns a text into its UTF-8 bytes, with zeros up to the length of the array.

    A file ignores zeros at the end, so an app may fill its array with them. A text that itself
    ends in NUL characters gets a -1 behind them, which the file ignores as well.

    Args:
        text: A `str` or any bytes.
        max_bytes: Length of the array; longer texts are cut. Default: the length of the text.

    Returns: The array and the number of bytes that it holds, see `Encoded`.

    Raises: ValueError, if `text` is neither `str` nor bytes.

    >>> encode("caf\u00e9", 8).numbers
    array([[ 99,  97, 102, 195, 169,   0,   0,   0]], dtype=int32)
    """
    if not isinstance(text, str | bytes):
        checks.fail("text", "a str or bytes", text)
    # Python turns invalid UTF-8 on the command line into lone surrogates.
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


def decoded(text: str | bytes) -> str:
    """A text as a `str`.

    Args:
        text: A `str` or UTF-8 bytes.

    Raises: ValueError, if it is not valid UTF-8, with the position.

    >>> decoded(b"turn it up")
    'turn it up'
    """
    if not isinstance(text, str | bytes):
        checks.fail("text", "a str or UTF-8 bytes", text)
    try:
        # Python turns invalid UTF-8 on the command line into lone surrogates.
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return data.decode("utf-8")
    except UnicodeError as error:
        place = error.start if isinstance(error, UnicodeDecodeError | UnicodeEncodeError) else 0
        unit = "byte" if isinstance(error, UnicodeDecodeError) else "character"
        raise ValueError(
            f"`text` must be valid UTF-8. Received: a bad {unit} at {place}."
        ) from None


def open_length(text: str | bytes) -> int:
    """Length of the array of a text for a file that takes any: the next multiple of 64 bytes.

    A runtime plans its memory anew for each length, which takes longer than a short text does.

    >>> open_length("caf\u00e9"), open_length("a" * 64)
    (64, 128)
    """
    size = len(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return size - size % STEP + STEP  # one more byte at least, for the end mark
