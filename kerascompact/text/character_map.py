"""Map from code points to the characters of words, as a tokenizer of BERT normalizes and cuts."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from kerascompact.core.characters import (
    ALONE,
    HANGUL,
    PAGE,
    POINTS,
    ROW,
    SECOND,
    SPACE,
    SYLLABLES,
)

OTHER = POINTS - 1  # a noncharacter in place of what a known character must not become
_BATCH = 256
DROPPED, LETTER, MARK, WHITE = range(4)
_BETWEEN = "|"  # stands between characters; none but itself becomes it


class CharacterMap(NamedTuple):
    """Tables in which a file looks up a code point.

    `entries[pages[8 middle[64 top[c >> 9] + (c >> 3) mod 64] + c mod 8]]` is
    `2^24 second + 2 unit + same`. `unit + same c` is the character that `c` becomes, with the bit
    `ALONE` if it is a word; `SPACE`; or 0 for nothing. `seconds[second]` follows it, if not 0.
    Syllables of Hangul become their letters by arithmetic, if `hangul`.
    """

    top: np.ndarray
    middle: np.ndarray
    pages: np.ndarray
    entries: np.ndarray
    seconds: np.ndarray
    hangul: bool

    def units(self, points: np.ndarray) -> np.ndarray:
        """The first character of each code point, int32 of the same shape."""
        entries = self._entries(points)
        return (entries % (1 << SECOND) >> 1) + points * (entries & 1)

    def _entries(self, points: np.ndarray) -> np.ndarray:
        points = np.asarray(points, np.int32)
        rows = self.top[points >> 9].astype(np.int32)
        pages = self.middle[rows * ROW + (points >> 3) % ROW].astype(np.int32)
        return self.entries[self.pages[pages * PAGE + points % PAGE]]


class NormalForms(NamedTuple):
    """What a tokenizer makes of each code point by itself.

    `kinds`: `DROPPED`, `LETTER`, `MARK` (a word of its own) or `WHITE`, uint8 `(POINTS,)`.
    `changed`: the characters that a code point becomes, where they are not itself.
    """

    kinds: np.ndarray
    changed: dict[int, str]


def normal_forms(
    normalize: Callable[[str], str], cut: Callable[[str], Iterable[str]]
) -> NormalForms:
    """Asks a tokenizer about each code point; this takes a second or two.

    Args:
        normalize: Lower-cases, drops and replaces characters, each one by itself.
        cut: Splits normalized text into words.

    Raises: ValueError, if one character becomes several words.

    >>> found = normal_forms(str.lower, str.split)
    >>> found.changed[ord("B")], int(found.kinds[ord(" ")]) == WHITE
    ('b', True)
    """
    kinds = np.full(POINTS, LETTER, np.uint8)
    kinds[0xD800:0xE000] = DROPPED
    changed: dict[int, str] = {}
    for point, words in _words(normalize, cut):
        if words == ["aa"]:
            kinds[point] = DROPPED
            continue
        if words == ["a", "a"]:
            kinds[point] = WHITE
            continue
        if len(words) == 1 and len(words[0]) > 2:
            letters, kinds[point] = words[0][1:-1], LETTER
        elif len(words) == 3 and words[0] == words[2] == "a" and len(words[1]) == 1:
            letters, kinds[point] = words[1], MARK
        else:
            raise ValueError(
                "`tokenizer` must keep a character in its word, drop it, or make it one word. "
                f"Received: one that turns {f'a{chr(point)}a'!r} into {words}."
            )
        if letters != chr(point):
            changed[point] = letters
    return NormalForms(kinds, changed)


def character_map(forms: NormalForms, known: set[str]) -> CharacterMap:
    """Makes the map of a tokenizer with a vocabulary.

    Characters that become unknown ones stay as they are, which saves most of the table: the words
    that they are in are unknown in any case.

    Args:
        forms: What the tokenizer makes of each code point.
        known: The characters of the vocabulary.

    Raises: ValueError, if a character becomes more than two known ones.

    >>> kinds = np.full(POINTS, LETTER)
    >>> kinds[ord(" ")] = WHITE
    >>> found = character_map(NormalForms(kinds, {ord("B"): "b"}), {"a", "b"})
    >>> found.units(np.array([ord("B"), ord(" "), ord("z")])).tolist()
    [98, 4194304, 122]
    """
    kinds = forms.kinds.copy()
    kinds[0] = DROPPED  # zeros fill a file's input up
    units = np.array([0, 0, ALONE, SPACE])[kinds]
    same = np.isin(kinds, (LETTER, MARK)).astype(np.int64)
    seconds = np.zeros(POINTS, np.int64)
    hangul = False
    for point, letters in forms.changed.items():
        if HANGUL <= point < HANGUL + SYLLABLES and len(letters) > 1:
            hangul = hangul or known.issuperset(letters)
        elif not known.issuperset(letters):
            if chr(point) in known:
                units[point] |= OTHER
                same[point] = 0
        elif len(letters) > 2:
            raise ValueError(
                "`tokenizer` must turn each character into at most two known ones. "
                f"Received: one that turns {chr(point)!r} into {letters!r}."
            )
        else:
            units[point] |= ord(letters[0])
            same[point] = 0
            seconds[point] = ord(letters[1]) if len(letters) > 1 else 0
    _by_distance(forms, units, same, seconds)
    different = np.unique(seconds)
    packed = (np.searchsorted(different, seconds) << SECOND) + 2 * units + same
    entries, numbers = np.unique(packed, return_inverse=True)
    middle, pages = _blocks(numbers, PAGE)
    top, middle = _blocks(middle, ROW)
    return CharacterMap(
        _small(top),
        _small(middle),
        _small(pages),
        entries.astype(np.int32),
        different.astype(np.int32),
        hangul,
    )


def _by_distance(
    forms: NormalForms, units: np.ndarray, same: np.ndarray, seconds: np.ndarray
) -> None:
    """Writes characters as a distance from their code points, where that makes fewer entries.

    The capitals of a script are often in one distance from its small letters.
    """
    points = np.array([*forms.changed], np.int64)
    points = points[(units[points] > 0) & (units[points] < ALONE) & (seconds[points] == 0)]
    points = points[(same[points] == 0) & (units[points] > points)]
    distances = units[points] - points
    for distance in np.unique(distances):
        chosen = points[distances == distance]
        others = np.setdiff1d(points, chosen)
        left = np.setdiff1d(units[chosen], units[others[same[others] == 0]])
        if len(left) > 1:
            units[chosen], same[chosen] = distance, 1


def _words(
    normalize: Callable[[str], str], cut: Callable[[str], Iterable[str]]
) -> Iterator[tuple[int, list[str]]]:
    """What each code point becomes between two letters `a`, as words; not those of surrogates.

    Nor those of batches in which all stay as they are, letters of a word.
    """
    points = [point for point in range(POINTS) if not 0xD800 <= point < 0xE000]
    points.remove(ord(_BETWEEN))
    yield ord(_BETWEEN), list(cut(normalize(f"a{_BETWEEN}a")))
    for begin in range(0, len(points), _BATCH):
        batch = points[begin : begin + _BATCH]
        whole = f"a{''.join(map(chr, batch))}a"
        text = normalize(whole)
        # Most batches are letters alone, or dropped ones, or words of their own as ideographs.
        if text == whole and list(cut(text)) == [whole]:
            continue
        if text == "aa":
            yield from ((point, ["aa"]) for point in batch)
            continue
        apart = f"a{''.join(f' {chr(point)} ' for point in batch)}a"
        if text == apart and list(cut(text)) == ["a", *map(chr, batch), "a"]:
            yield from ((point, ["a", chr(point), "a"]) for point in batch)
            continue
        text = normalize(_BETWEEN.join(f"a{chr(point)}a" for point in batch))
        found: list[list[str]] = [[]]
        for word in cut(text.replace(_BETWEEN, f" {_BETWEEN} ")):
            if word == _BETWEEN:
                found.append([])
            else:
                found[-1].append(word)
        yield from zip(batch, found, strict=True)


def _blocks(numbers: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Cuts numbers into blocks: the number of each block, and the different blocks in a row."""
    rows = np.pad(numbers, (0, -len(numbers) % size)).reshape(-1, size)
    seen: dict[bytes, int] = {}  # most rows are alike, and NumPy would sort them all
    which = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])
    different = np.frombuffer(b"".join(seen), rows.dtype).reshape(-1, size)
    blocks, places = np.unique(different, axis=0, return_inverse=True)
    return places.reshape(-1)[which], blocks.reshape(-1)


def _small(numbers: np.ndarray) -> np.ndarray:
    """Numbers in the smallest type of which a file has `GATHER`."""
    return numbers.astype(np.uint8 if numbers.max() < 2**8 else np.int16)
