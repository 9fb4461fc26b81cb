"""Hashes of the tokens of many texts at once, and rows of ids made from them."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.core.byte_rules import ByteRules
from kerascompact.core.hash32 import GOLDEN, int32
from kerascompact.text import byte_words, inputs
from kerascompact.text.word_hashes import word_hashes

_CHUNK = 2**20  # bytes of text at a time, so that arrays stay small


class TokenHashes(NamedTuple):
    """The tokens of some texts, one text after another: words, or words and pairs in turns.

    `values`: hash of each token, int32 `(tokens,)`; 0 means no token, in a file too. `owners`: the
    text of each. `places`: its place among the tokens of its text.
    """

    values: np.ndarray
    owners: np.ndarray
    places: np.ndarray


def token_hashes(
    texts: list[bytes], rules: ByteRules, seed: int, pairs: bool = False
) -> TokenHashes:
    """The hashes of all tokens, as `ops.word_hashes.token_hashes` computes them in a graph.

    Args:
        texts: UTF-8, or any bytes.
        rules: The token rules as tables.
        seed: Integer that selects the hash function.
        pairs: Whether each two neighbours also form a token.

    >>> from kerascompact.text.byte_rules import byte_rules
    >>> token_hashes([b"a b", b"c"], byte_rules("wordpunct"), 1, pairs=True).places.tolist()
    [0, 1, 2, 0]
    """
    words = byte_words.split(texts, rules)
    values = word_hashes(words, rules, seed)
    if not pairs or not len(values):
        return TokenHashes(values, words.owners, words.ranks)
    after = np.append(values[1:], np.int32(0))
    both = values * np.int32(int32(GOLDEN)) + after  # wraps
    both[after == 0] = 0
    paired = np.append(words.owners[1:] == words.owners[:-1], False)
    kept = np.stack([np.ones_like(paired), paired], axis=1)
    places = np.stack([2 * words.ranks, 2 * words.ranks + 1], axis=1)
    owners = np.repeat(words.owners[:, None], 2, axis=1)
    return TokenHashes(np.stack([values, both], axis=1)[kept], owners[kept], places[kept])


def encode(text: str, hashes_of: Callable[[list[bytes]], TokenHashes]) -> np.ndarray:
    """The hashes of the tokens of one text.

    Raises: ValueError, if `text` is no `str` that UTF-8 can hold.
    """
    if not isinstance(text, str):
        checks.fail("text", "a str", text)
    return hashes_of([byte_words.utf8("text", text)]).values


def encode_all(
    texts: Iterable[str],
    sequence_length: int,
    hashes_of: Callable[[list[bytes]], TokenHashes],
    ids_of: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Rows of ids, int32 `(n, sequence_length)`, cut or padded with 0 at the end.

    Args:
        texts: The texts.
        sequence_length: Ids of a text.
        hashes_of: From texts as bytes to the hashes of their tokens.
        ids_of: From hashes to ids.

    Raises: ValueError, if `texts` is no list of `str` or `sequence_length` no integer >= 1.
    """
    sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
    texts = inputs.strings("texts", texts)
    encoded = [byte_words.utf8(f"texts[{index}]", text) for index, text in enumerate(texts)]
    rows = np.zeros((len(texts), sequence_length), np.int32)
    for begin, end in _chunks(encoded):
        found = hashes_of(encoded[begin:end])
        kept = found.places < sequence_length
        rows[begin + found.owners[kept], found.places[kept]] = ids_of(found.values[kept])
    return rows


def _chunks(texts: list[bytes]) -> Iterator[tuple[int, int]]:
    """Ranges of texts of about a megabyte each, or of one text."""
    begin, size = 0, 0
    for place, text in enumerate(texts):
        size += len(text) + 1
        if size >= _CHUNK:
            yield begin, place + 1
            begin, size = place + 1, 0
    if begin < len(texts):
        yield begin, len(texts)
