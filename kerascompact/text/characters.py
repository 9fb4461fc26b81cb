"""Character codes: a word's characters as its code."""

from collections.abc import Sequence

import numpy as np

from kerascompact.core import checks

PAD = ""


def character_codes(words: Sequence[str], code_length: int = 10) -> tuple[np.ndarray, list[str]]:
    """Writes each word as the numbers of its first characters.

    Args:
        words: Word of each id.
        code_length: Number of characters `D`; longer words are cut, shorter ones padded.

    Returns: Codes `(V, D)` int32 and the alphabet: `alphabet[k]` is the character of number `k`,
    `alphabet[0]` the empty string that pads. So `K = len(alphabet)`, for
    `KDCodeEmbedding(V, d, K, D, codes=codes)`.

    Raises: ValueError, if `words` is empty, or one word is empty.

    >>> codes, alphabet = character_codes(["bad", "ad"], 3)
    >>> codes.tolist(), alphabet
    ([[2, 1, 3], [1, 3, 0]], ['', 'a', 'b', 'd'])

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), Table 4, "Char-as-codes".
    """
    checks.integer_in("code_length", code_length, 1)
    words = list(words)
    if not words or not all(isinstance(word, str) and word for word in words):
        checks.fail("words", "a list of non-empty strings", words)
    cut = [word[:code_length] for word in words]
    alphabet = [PAD, *sorted(set("".join(cut)))]
    number = {character: k for k, character in enumerate(alphabet)}
    codes = np.zeros((len(words), code_length), np.int32)
    for row, word in zip(codes, cut, strict=True):
        row[: len(word)] = [number[character] for character in word]
    return codes, alphabet
