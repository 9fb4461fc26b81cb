"""Vocabulary: words with their ids, most frequent first."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Self

import numpy as np

from kerascompact.core import checks, files
from kerascompact.text import inputs
from kerascompact.text import rules as token_rules
from kerascompact.text.inputs import PAD, UNK
from kerascompact.text.mediapipe_rules import LONGEST

NUM_RESERVED = 2
PADDING, UNKNOWN = 0, 1
TAGS = "tags"  # in the first line of the file of a `SlotVocabulary`, before seed and tag bits


class Vocabulary:
    r"""Words and their ids: 0 is padding, 1 is any unknown word, then the words in order.

    The saved file is UTF-8 text, one word per line, line number minus one = id. Line 1 holds, after
    `<pad>`, the name of the token rules and the number of ids, separated by tabs. No word contains
    a tab or a line break, and a truncated file is detected.

        <pad>\twordpunct\t4
        <unk>
        the
        of

    Args:
        words: Known words, most frequent first, without `<pad>` and `<unk>`.
        rules: Name of the token rules, see `kerascompact.text.rules`.
    Shapes: a text -> ids `(tokens,)`, or `(sequence_length,)` if that is given.
    Raises: ValueError, if `words` is empty, is no list of `str`, or holds a word twice, an empty
        word, one with white space inside (but the space of a pair, if the rules have pairs),
        `<pad>` or `<unk>`.
    Example:
    >>> vocabulary = Vocabulary(["turn", "it", "up"])
    >>> vocabulary.encode("Turn it down!", sequence_length=6)
    array([2, 3, 1, 1, 0, 0], dtype=int32)

    Differs: a token `<pad>` or `<unk>` in a text is an unknown word, id 1, never padding.
    """

    def __init__(self, words: Sequence[str], rules: str = "wordpunct"):
        self._rules = token_rules.named(rules)
        self._words = tuple(inputs.strings("words", words))
        if not self._words:
            checks.fail("words", "a list of at least one word", words)
        for index, complaint in inputs.complaints(self._words, self._rules.pairs):
            raise ValueError(
                "`words` must be distinct, without white space and not reserved. "
                f"Received: words[{index}]={self._words[index]!r}, which {complaint}."
            )
        self._ids = {word: id for id, word in enumerate(self._words, NUM_RESERVED)}

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        size: int | None = None,
        min_count: int = 1,
        rules: str = "wordpunct",
    ) -> Self:
        """Counts the tokens of `texts` and keeps the most frequent.

        Args:
            texts: Texts to count; give those of the training split only.
            size: Largest number of ids, reserved ones included; `None`: all words.
            min_count: Smallest number of occurrences of a word.
            rules: Name of the token rules.
        Raises: ValueError, if `texts` is no list of `str`, `size < 3`, `min_count < 1`, no text has
            a token, or no word is left.
        Example:
        >>> Vocabulary.build(["b a", "c b"], size=4).words
        ('b', 'a')
        """
        chosen = token_rules.named(rules)
        counter: Counter[str] = Counter()
        for text in inputs.strings("texts", texts):
            counter.update(chosen.tokens(text))
        if not counter:
            raise ValueError(f"No text has a token under the rules {rules!r}: choose others.")
        return cls.from_counts(counter, size, min_count, rules)

    @classmethod
    def from_counts(
        cls,
        counter: Mapping[str, int],
        size: int | None = None,
        min_count: int = 1,
        rules: str = "wordpunct",
    ) -> Self:
        """Keeps the most frequent words of `counter`; equal counts in order of code points.

        Args:
            counter: Number of occurrences of each word; `<pad>` and `<unk>` are ignored, and, with
                the rules "mediapipe_bert", words that are too long for MediaPipe.
            size: Largest number of ids, reserved ones included; `None`: all words.
            min_count: Smallest number of occurrences of a word.
            rules: Name of the token rules.
        Raises: ValueError, as in `build`, and if a count is no integer >= 0.
        Example:
        >>> Vocabulary.from_counts({"a": 1, "b": 5, "c": 1}, size=4).words
        ('b', 'a')
        """
        if size is not None:
            size = checks.integer_in("size", size, NUM_RESERVED + 1)
        min_count = checks.integer_in("min_count", min_count, 1)
        if not isinstance(counter, Mapping):
            checks.fail("counter", "a mapping from words to counts", counter)
        inputs.strings("words", counter)
        for word, count in counter.items():
            if not isinstance(count, Integral) or isinstance(count, bool) or count < 0:
                checks.fail(f"counter[{word!r}]", "an integer >= 0", count)
        kept = [w for w, n in counter.items() if n >= min_count and w not in (PAD, UNK)]
        if token_rules.named(rules).mediapipe == "bert":
            kept = [w for w in kept if len(w.encode("utf-8", "surrogatepass")) <= LONGEST]
        if not kept:
            raise ValueError(
                f"`counter` must hold a word seen at least {min_count} times (`min_count`). "
                f"Received: {len(counter)} words, none of them so often."
            )
        kept.sort(key=lambda word: (-counter[word], word))
        return cls._of_best(kept, size, rules)

    @classmethod
    def _of_best(cls, words: Sequence[str], size: int | None, rules: str) -> Self:
        """The vocabulary of words of which the best are first."""
        return cls(words if size is None else words[: size - NUM_RESERVED], rules)

    def __len__(self) -> int:
        """Number of ids, the two reserved ones included: `input_dim` of an embedding."""
        return NUM_RESERVED + len(self._words)

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} ids, rules={self.rules!r}>"

    @property
    def words(self) -> tuple[str, ...]:
        """The known words; `words[0]` has id 2."""
        return self._words

    @property
    def rules(self) -> str:
        """Name of the token rules."""
        return self._rules.name

    def id_of(self, word: str) -> int:
        """Id of a token, 1 if it is unknown."""
        return self._ids.get(word, UNKNOWN)

    def token_ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of tokens, 1 for those that are unknown.

        >>> Vocabulary(["turn", "it"]).token_ids(["turn", "up"])
        [2, 1]
        """
        find = self._ids.get
        return [find(token, UNKNOWN) for token in tokens]

    def word_of(self, id: int) -> str:
        """Word of an id, `<pad>` and `<unk>` included.

        Raises: ValueError, if `id` is not an integer in `[0, len(self) - 1]`.
        """
        id = checks.integer_in("id", id, 0, len(self) - 1)
        return (PAD, UNK)[id] if id < NUM_RESERVED else self._words[id - NUM_RESERVED]

    def encode(self, text: str, sequence_length: int | None = None) -> np.ndarray:
        """Ids of the tokens of `text`, int32, cut or padded at the end to a given length.

        Raises: ValueError, if `text` is no `str` or `sequence_length` no integer >= 1.
        """
        if not isinstance(text, str):
            checks.fail("text", "a str", text)
        ids = self.token_ids(self._rules.tokens(text))
        if sequence_length is None:
            return np.array(ids, np.int32)
        row = np.full(checks.integer_in("sequence_length", sequence_length, 1), PADDING, np.int32)
        row[: len(ids)] = ids[:sequence_length]
        return row

    def encode_all(self, texts: Iterable[str], sequence_length: int) -> np.ndarray:
        """Ids of all texts, int32 `(n, sequence_length)`, cut or padded at the end.

        Raises: ValueError, if `texts` is no list of `str` or `sequence_length` no integer >= 1.
        """
        sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
        rows = [self.encode(text, sequence_length) for text in inputs.strings("texts", texts)]
        return np.stack(rows) if rows else np.zeros((0, sequence_length), np.int32)

    def coverage(self, texts: Iterable[str]) -> float:
        """Share of the tokens of `texts` that are known words, 0 if there are no tokens.

        >>> Vocabulary(["turn", "it"]).coverage(["turn it up", "turn"])
        0.75
        """
        tokens = [
            token for text in inputs.strings("texts", texts) for token in self._rules.tokens(text)
        ]
        return sum(token in self._ids for token in tokens) / len(tokens) if tokens else 0.0

    def _bytes(self) -> bytes:
        return ("\n".join([self._first_line(), UNK, *self._words]) + "\n").encode()

    def _first_line(self) -> str:
        return f"{PAD}\t{self.rules}\t{len(self)}"

    @property
    def num_bytes(self) -> int:
        """Size of the saved file."""
        return len(self._bytes())

    @property
    def sha256(self) -> str:
        """Checksum of the saved file; a model stores that of its vocabulary."""
        return files.sha256(self._bytes())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the file described above atomically."""
        return files.write_bytes(path, self._bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Reads what `save` wrote, of this class or of a `SlotVocabulary`.

        Raises: ValueError, naming the file and the line, if it is not UTF-8, not a vocabulary, or
            incomplete; OSError, if it cannot be read.
        Example:
        >>> import tempfile
        >>> path = Vocabulary(["turn", "it"]).save(tempfile.mkdtemp() + "/vocabulary.txt")
        >>> Vocabulary.load(path).words
        ('turn', 'it')
        """
        data = Path(path).read_bytes()
        try:
            lines = data.decode().split("\n")  # not splitlines(): U+0085 may be in a word
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ValueError(f"{path}, line {line}: not UTF-8 text ({error.reason}).") from None
        first, *fields = lines[0].split("\t")
        if first == PAD and fields[2:3] == ["slots"]:
            raise ValueError(
                f"{path}, line 1: words in slots of an older hash, which the files of today do not "
                "have. Make the vocabulary again with SlotVocabulary.from_ranked or "
                "training.choose_words, and train with it."
            )
        if first != PAD or len(fields) != 2 and not _has_slots(fields):
            raise ValueError(
                f"{path}, line 1: not a vocabulary. It must read '{PAD}', the name of the token "
                f"rules and the number of ids, with tabs between. Received: {lines[0][:80]!r}."
            )
        rules, size = fields[:2]
        if rules not in token_rules.RULES:
            known = ", ".join(map(repr, token_rules.RULES))
            raise ValueError(f"{path}, line 1: unknown token rules {rules!r}; there are {known}.")
        if lines.pop() or str(len(lines)) != size:  # the last line break leaves one empty string
            raise ValueError(
                f"{path}, line {len(lines)}: the file must end after {size} complete lines, as "
                f"line 1 says. Received: {len(lines)} lines; the file was truncated or edited."
            )
        if lines[1:2] != [UNK]:
            raise ValueError(f"{path}, line 2: must read '{UNK}'. Received: {lines[1:2]}.")
        words = lines[NUM_RESERVED:]
        for index, complaint in inputs.complaints(words, token_rules.named(rules).pairs):
            line = index + NUM_RESERVED + 1
            raise ValueError(f"{path}, line {line}: the word {words[index][:80]!r} {complaint}.")
        if not words:
            raise ValueError(f"{path}, line 2: no word follows.")
        if _has_slots(fields):
            from kerascompact.text.slot_vocabulary import SlotVocabulary

            return SlotVocabulary(words, rules, int(fields[3]), int(fields[4]))
        return Vocabulary(words, rules)


def _has_slots(fields: Sequence[str]) -> bool:
    """Whether the first line of a file says that the words are in slots, by seed and tag bits."""
    return (
        len(fields) == 5
        and fields[2] == TAGS
        and re.fullmatch("[1-9][0-9]{0,8}", fields[3]) is not None
        and fields[4] in ("8", "16", "24")
    )
