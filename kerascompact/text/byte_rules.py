"""Token rules as tables over bytes, made from their patterns."""

import re
from typing import NoReturn

import numpy as np

from kerascompact.core import checks
from kerascompact.core.byte_rules import ALONE, JOINED, ByteRules
from kerascompact.text import rules as token_rules
from kerascompact.text.rules import Rules

_BYTES = [chr(byte) for byte in range(256)]  # the rules treat all bytes above ASCII alike
_WHITE = np.array([character in token_rules.WHITE_SPACE for character in _BYTES])


def byte_rules(rules: str | Rules) -> ByteRules:
    r"""Writes token rules as tables over bytes, so that a file can apply them.

    Four kinds of substitution are supported, which are all that this package uses: a character
    class that becomes a space, one whose runs (`([...]+)`) or single characters (`([...])`) are set
    off by spaces, and literal endings (`('s|n't)`) that get a space before.

    Args:
        rules: Name of the token rules, or the rules.

    Returns: Tables that cut the UTF-8 bytes of any text where `rules.tokens` cuts the text.

    Raises: ValueError, naming the pattern, if a substitution is of another kind; or if the rules
        are those of MediaPipe, which cuts texts itself.

    >>> tables = byte_rules("wordpunct")
    >>> [int(tables.kinds[byte]) for byte in b"a1_ ,!"], chr(tables.folding[ord("Q")])
    ([2, 2, 2, 0, 1, 1], 'q')
    """
    rules = token_rules.named(rules) if isinstance(rules, str) else rules
    if not isinstance(rules, Rules):
        checks.fail("rules", "the name of token rules, or kerascompact.text.Rules", rules)
    if rules.mediapipe is not None:
        raise ValueError(
            "`rules` must be rules that a file can apply to the bytes of a text. Received: "
            f"{rules.name!r}, for files of ids whose texts MediaPipe cuts (`mediapipe=True`)."
        )
    folding = np.arange(256, dtype=np.uint8)
    if rules.lower:
        folding[ord("A") : ord("Z") + 1] += ord("a") - ord("A")
    kinds = np.where(_WHITE, 0, 1)
    alone = np.zeros(256, bool)
    endings: tuple[bytes, ...] = ()
    for pattern, replacement in rules.substitutions:
        inner = pattern[1:-1] if pattern[0] + pattern[-1] == "()" else pattern
        if replacement == r" \1" and inner != pattern and not endings:
            endings = _endings(pattern, inner)
            if any(len({int(kinds[byte]) for byte in ending}) > 1 for ending in endings):
                _refuse(pattern, replacement)  # cut already
            continue
        members = _members(inner.removesuffix("+"))
        if members is None or replacement not in (" ", r" \1 "):
            _refuse(pattern, replacement)
        if replacement == " ":
            kinds[members] = 0
            continue
        # A run of a class with white space would continue across it.
        cut = any(len({bool(members[byte]) for byte in ending}) > 1 for ending in endings)
        if inner == pattern or np.any(members & _WHITE) or cut:
            _refuse(pattern, replacement)
        kinds[members & (kinds > 0)] += kinds.max()
        if not inner.endswith("+"):
            alone |= members
    for ending in endings:
        if not all(kinds[byte] and not alone[byte] for byte in ending):
            _refuse(ending.decode(), r" \1")
    numbers = np.unique(kinds, return_inverse=True)[1]  # 0 is there, and stays 0
    numbers = np.where(alone & (kinds > 0), ALONE, numbers).astype(np.uint8)
    if rules.characters:
        numbers[0x80:] = np.where(np.arange(0x80, 0x100) < 0xC0, JOINED, ALONE)
    return ByteRules(folding, numbers, endings)


def _members(pattern: str) -> np.ndarray | None:
    """Mask of the bytes in a character class, `(256,)`; `None` for another pattern."""
    if not re.fullmatch(r"\[(\\x[0-7][0-9a-f]|[^\[\]\\])+\]", pattern) or not pattern.isascii():
        return None  # more than one class, or a name that means other things for bytes
    members = np.array([re.fullmatch(pattern, character) is not None for character in _BYTES])
    return members if len(set(members[128:])) == 1 else None


def _endings(pattern: str, inner: str) -> tuple[bytes, ...]:
    """The literals of `a|b|c`; none may begin inside another."""
    words = inner.split("|")
    if not all(re.fullmatch(r"[a-z']+", word) for word in words):
        _refuse(pattern, r" \1")
    for one in words:
        for place in range(1, len(one)):
            if any(one[place:].startswith(o) or o.startswith(one[place:]) for o in words):
                _refuse(pattern, r" \1")
    return tuple(word.encode() for word in words)


def _refuse(pattern: str, replacement: str) -> NoReturn:
    raise ValueError(
        "`rules` must be a space in place of a class of characters, a class or its runs set off by "
        "spaces, or literal endings set off, to be followed byte by byte. "
        f"Received: {pattern!r} -> {replacement!r}."
    )
