"""Checks of texts and words; an error names the first that is wrong."""

import re
from collections.abc import Iterable, Iterator, Sequence

from kerascompact.core import checks
from kerascompact.text.rules import WHITE_SPACE

PAD = "<pad>"
UNK = "<unk>"
_PAIR = re.compile(r"(?<=[^ ]) (?=[^ ]+$)")  # the space between two words


def strings(name: str, values: Iterable[str]) -> list[str]:
    """Returns `values` as a list, if each is a `str`.

    Raises: ValueError, with the index of the first that is not.

    >>> strings("texts", ("a", "b"))
    ['a', 'b']
    """
    # a str is also an iterable of str, but never meant as one
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        checks.fail(name, "a list of str", values)
    values = list(values)
    for index, value in enumerate(values):
        if not isinstance(value, str):
            checks.fail(f"{name}[{index}]", "a str", value)
    return values


def unicode(name: str, texts: list[str]) -> list[str]:
    """Returns `texts`, if UTF-8 can hold each.

    Raises: ValueError, with the index of the first that it cannot.

    >>> unicode("texts", ["up"])
    ['up']
    """
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        row = next(
            row for row, text in enumerate(texts) if any("\ud800" <= c < "\ue000" for c in text)
        )
        checks.fail(f"{name}[{row}]", "valid Unicode, without a lone surrogate", texts[row])
    return texts


def complaints(words: Sequence[str], pairs: bool = False) -> Iterator[tuple[int, str]]:
    """Yields the index of each word that cannot have an id, and the reason.

    With `pairs`, two words with a space between are allowed.

    >>> list(complaints(["a", "b c", "a"]))
    [(1, 'has white space inside'), (2, 'is repeated')]
    """
    seen: set[str] = set()
    for index, word in enumerate(words):
        if not word:
            yield index, "is empty"
        elif any(c in WHITE_SPACE for c in (_PAIR.sub("", word) if pairs else word)):
            yield index, "has white space inside"
        elif word in (PAD, UNK):
            yield index, "is reserved"
        elif word in seen:
            yield index, "is repeated"
        elif any("\ud800" <= character <= "\udfff" for character in word):
            yield index, "is not valid Unicode (a lone surrogate)"
        seen.add(word)
