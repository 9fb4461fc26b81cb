"""Texts that nobody asked for: random bytes, every script, broken UTF-8, very long words."""

from collections.abc import Callable, Sequence

import numpy as np

WHITE = [" ", "  ", "\t", "\n", "\v", "\f", "\r", "\u00a0", "\u2003", "\u3000", "\x1c", "\x85"]
MARKS = list("!?.,;:'`\"()[]{}<>/\\|@#$%^&*_-+=~") + ["n't", "'s", "'ll", "'LL", "<pad>", "<unk>"]
ODD = ["\x00", "\x01", "\x7f", "\ufeff", "\u200b", "\u200d", "\u0301", "\ufffd", "\U0010ffff"]
# First and last character of some scripts, and of emoji.
SCRIPTS = [
    (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x556), (0x5D0, 0x5EA), (0x620, 0x64A),
    (0x904, 0x939), (0xE01, 0xE30), (0x10A0, 0x10FF), (0x1200, 0x135A), (0x3041, 0x30FA),
    (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1D400, 0x1D7FF), (0x1F300, 0x1FAFF), (0x20000, 0x2A6DF),
]  # fmt: skip


def hostile_texts(count: int, words: Sequence[str] = ("word",), seed: int = 0) -> list[bytes]:
    r"""Draws texts as bytes, an equal share of each kind.

    Known words with odd white space and marks between; words with a letter changed; words of all
    scripts; broken UTF-8; random bytes; and one byte, word or mark again and again.

    Args:
        count: How many.
        words: Words that are known.
        seed: Of the draws.

    >>> len(hostile_texts(12)), hostile_texts(3, seed=1) == hostile_texts(3, seed=1)
    (12, True)
    """
    random = np.random.default_rng(seed)
    known = [word.encode() for word in words]

    def pick(options: Sequence[str]) -> bytes:
        return options[int(random.integers(len(options)))].encode()

    def word() -> bytes:
        return known[int(random.integers(len(known)))]

    def sentence(make: Callable[[], bytes]) -> bytes:
        parts = []
        for _ in range(int(random.integers(0, 20))):
            parts.append(make())
            kind = random.random()
            parts.append(b" " if kind < 0.7 else pick((WHITE, MARKS, ODD)[int(random.integers(3))]))
        return b"".join(parts)

    def misspelt() -> bytes:
        letters = bytearray(word())
        letters[int(random.integers(len(letters)))] = int(random.integers(97, 123))
        return bytes(letters).upper() if random.random() < 0.2 else bytes(letters)

    def foreign() -> bytes:
        low, high = SCRIPTS[int(random.integers(len(SCRIPTS)))]
        size = int(random.integers(1, 9))
        return "".join(map(chr, random.integers(low, high + 1, size))).encode()

    def broken() -> bytes:
        text = sentence(foreign)
        cut = int(random.integers(len(text) + 1))
        return text[cut:] + text[:cut] + bytes([int(random.integers(0x80, 0x100))])

    def noise() -> bytes:
        return random.bytes(int(random.integers(0, 200)))

    def again() -> bytes:
        unit = (word(), pick(MARKS), pick(ODD), pick(WHITE), random.bytes(1))
        return unit[int(random.integers(len(unit)))] * int(random.integers(1, 400))

    kinds = [lambda: sentence(word), lambda: sentence(misspelt), lambda: sentence(foreign)]
    kinds += [broken, noise, again]
    return [kinds[number % len(kinds)]() for number in range(count)]
