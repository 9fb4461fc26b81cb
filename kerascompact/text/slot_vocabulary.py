"""Vocabulary of words in slots: a file stores 1 to 3 bytes a word, and searches nothing."""

import os
from collections.abc import Iterable, Sequence
from typing import Self

import numpy as np

from kerascompact.core import checks
from kerascompact.text import inputs, slots, token_hashes, word_hashes
from kerascompact.text import rules as token_rules
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.inputs import PAD
from kerascompact.text.token_hashes import TokenHashes
from kerascompact.text.vocabulary import NUM_RESERVED, TAGS, UNKNOWN, Vocabulary

SEEDS = 8  # that are tried, if none is given


class SlotVocabulary(Vocabulary):
    r"""Words in slots that their hashes name, each with a short tag: for files that take text.

    A word of hash `h` may be in the slots `h mod n`, `h mod (n - 1)` and `h mod (n - 2)`, and is
    known by its tag there, the upper bits of `h`. So a file stores 1 byte for each word, where that
    of a `Vocabulary` stores 4 or more, and has no search. In return 1 unknown word in 85 passes for
    a known one; with tags of 16 bits 1 in 22,000, of 24 bits 1 in 5.6 million. Python and the file
    make the same mistakes, so that training learns with them. NUL is white space.

    Make it with `training.choose_words(..., slots=True)` or `from_ranked`. Ids are in the order of
    slots, not of frequency. It is used as a `Vocabulary` is, and saved alike, with `tags`, the seed
    and `tag_bits` after the number of ids in line 1; but only for files that take text, whose apps
    need no words.

    Args:
        words: The word in each slot. A word in a slot that is none of its own, such as `<slot7>`,
            leaves the slot empty.
        rules: Name of the token rules, see `kerascompact.text.rules`.
        seed: Seed of the hash.
        tag_bits: Bits of a word's tag, 8, 16 or 24.
    Shapes: a text -> ids `(tokens,)`, or `(sequence_length,)` if that is given.
    Raises: ValueError, as `Vocabulary` does, or if `seed` or `tag_bits` is out of its range.
    Example:
    >>> words = SlotVocabulary.from_ranked(["turn", "it", "up"], size=6)
    >>> words.words[words.id_of("up") - 2], words.id_of("down")
    ('up', 1)
    >>> ids = words.encode("Turn it down!", sequence_length=5)
    >>> ids.tolist() == [words.id_of("turn"), words.id_of("it"), 1, 1, 0]
    True

    Reference: cuckoo filter, [Fan et al., CoNEXT 2014](https://doi.org/10.1145/2674005.2674994),
    sec. 4, with one tag in each slot and 3 hashes.
    """

    def __init__(
        self, words: Sequence[str], rules: str = "wordpunct", seed: int = 1, tag_bits: int = 8
    ) -> None:
        super().__init__(words, rules)
        self.seed = checks.integer_in("seed", seed, 1, 10**9 - 1)
        self.tag_bits = checks.choice("tag_bits", tag_bits, slots.TAG_BITS)
        self._tables = byte_rules(rules).without_nul
        values = word_hashes.of_joined(self._join(self.words), self.seed)
        own = (np.arange(len(values)) == slots.slots_of(values, len(values)).T).any(axis=0)
        self.tags = slots.tags_in(np.where(own, values, 0), tag_bits)

    @classmethod
    def from_ranked(
        cls,
        words: Sequence[str],
        size: int,
        rules: str = "wordpunct",
        seed: int | None = 1,
        tag_bits: int = 8,
    ) -> Self:
        """Gives slots to the best words that can have slots together.

        Of the best `size` words 94 % get one, of the best `0.9 size` 99.5 %; give all words that
        there are, and other good ones fill the remaining slots. Give all words of the training
        texts and no seed, and of some seeds the one is taken with which the fewest words without a
        slot pass for one that has one: with tags of 16 bits nearly always none.

        Args:
            words: Words, best first.
            size: Number of ids, padding and unknown word included.
            rules: Name of the token rules.
            seed: Seed of the hash. `None`: the best of the first 8.
            tag_bits: Bits of a word's tag, 8, 16 or 24.
        Raises: ValueError, as the class does, or if `size < 3`.
        Example:
        >>> words = SlotVocabulary.from_ranked([f"w{i}" for i in range(100)], size=22)
        >>> len(words), "w0" in words.words
        (22, True)
        """
        ranked = inputs.strings("words", words)
        count = checks.integer_in("size", size, NUM_RESERVED + 1) - NUM_RESERVED
        seeds = range(1, 1 + SEEDS) if seed is None else (seed,)
        joined = cls(ranked, rules, seeds[0], tag_bits)._join(ranked)  # checks the words
        best: tuple[int, int, np.ndarray] | None = None
        for one in seeds:
            values = word_hashes.of_joined(joined, one)
            placed = slots.place(values, count, tag_bits)
            held = np.where(placed >= 0, values[placed], 0)
            found = slots.find(values, slots.tags_in(held, tag_bits), tag_bits)
            mistaken = int((found >= 0).sum() - (placed >= 0).sum())
            if best is None or mistaken < best[0]:
                best = mistaken, one, placed
            if not mistaken:
                break
        assert best is not None
        taken = set(ranked)
        names = [
            ranked[word] if word >= 0 else _free_name(slot, taken)
            for slot, word in enumerate(best[2].tolist())
        ]
        return cls(names, rules, best[1], tag_bits)

    @classmethod
    def _of_best(cls, words: Sequence[str], size: int | None, rules: str) -> Self:
        enough = NUM_RESERVED + -(-len(words) * 10 // 9)  # all but 0.5 % get a slot
        return cls.from_ranked(words, enough if size is None else size, rules)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "SlotVocabulary":
        """Reads what `save` wrote.

        Raises: ValueError, as `Vocabulary.load` does, or if the words have no slots; OSError, if
            the file cannot be read.
        """
        made = Vocabulary.load(path)
        if not isinstance(made, SlotVocabulary):
            raise ValueError(f"{path}, line 1: a vocabulary without slots, see Vocabulary.load.")
        return made

    def _join(self, words: Iterable[str]) -> word_hashes.Joined:
        encoded = [word.encode("utf-8", "surrogateescape") for word in words]
        return word_hashes.joined(encoded, self._tables)

    def id_of(self, word: str) -> int:
        """Id of a token, 1 if it is unknown; some unknown tokens have the id of another word."""
        return self.token_ids([word])[0]

    def token_ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of tokens, as `id_of` gives them."""
        return self.ids_of(word_hashes.of_joined(self._join(tokens), self.seed)).tolist()

    def encode(self, text: str, sequence_length: int | None = None) -> np.ndarray:
        """Ids of the tokens of `text`, int32, cut or padded at the end to a given length.

        Raises: ValueError, if `text` is no `str` or `sequence_length` no integer >= 1.
        """
        if sequence_length is not None:
            return self.encode_all([text], sequence_length)[0]
        return self.ids_of(token_hashes.encode(text, self.hashes_of_texts))

    def encode_all(self, texts: Iterable[str], sequence_length: int) -> np.ndarray:
        """Ids of all texts, int32 `(n, sequence_length)`, cut or padded at the end.

        Raises: ValueError, if `texts` is no list of `str` or `sequence_length` no integer >= 1.
        """
        return token_hashes.encode_all(texts, sequence_length, self.hashes_of_texts, self.ids_of)

    def hashes_of_texts(self, texts: list[bytes]) -> TokenHashes:
        """Hashes of the tokens of texts, of which `ids_of` makes ids."""
        pairs = token_rules.named(self.rules).pairs
        return token_hashes.token_hashes(texts, self._tables, self.seed, pairs)

    def ids_of(self, hashes: np.ndarray) -> np.ndarray:
        """Ids of tokens by their hashes, int32 of the same shape; 0 is padding in both.

        >>> words = SlotVocabulary.from_ranked(["up"], size=3)
        >>> words.ids_of(np.array([0, 12345], np.int32))
        array([0, 1], dtype=int32)
        """
        found = slots.find(hashes, self.tags, self.tag_bits)
        ids = np.where(found < 0, UNKNOWN, NUM_RESERVED + found)
        return np.where(hashes == 0, 0, ids).astype(np.int32)

    def _first_line(self) -> str:
        return f"{PAD}\t{self.rules}\t{len(self)}\t{TAGS}\t{self.seed}\t{self.tag_bits}"


def _free_name(slot: int, taken: set[str]) -> str:
    """The name of an empty slot, which no word has."""
    name = f"<slot{slot}>"
    while name in taken:
        name = f"<{name}>"
    return name
