"""Tokenizer of BERT, as a file that takes text has it."""

import functools
import hashlib
import json
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.text import byte_words, inputs
from kerascompact.text.character_map import (
    CharacterMap,
    NormalForms,
    character_map,
    normal_forms,
)
from kerascompact.text.pieces import Pieces, pieces_of

_KINDS = {"normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer", "model": "WordPiece"}


class WordPiece:
    """Tokenizer of BERT, for models whose files take text.

    Words are lower-cased, lose their accents and are cut at spaces and punctuation, as the
    tokenizer says; the longest known piece at the beginning of a word is its first token, the
    longest one at the beginning of the rest the next. `export.convert(model, text=tokenizer)` makes
    one of the tokenizer that it is given.

    Args:
        tokenizer: A `tokenizers.Tokenizer` or one of `transformers` that holds it, the path of its
            `tokenizer.json`, or a WordPiece tokenizer of keras-hub, such as `BertTokenizer`.
    Shapes: a text -> ids `(tokens,)`, or `(sequence_length,)` if that is given.
    Raises: ValueError, if the tokenizer does not normalize, cut or split as BERT's do.
    Example:
    >>> from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    >>> tokens = {"[UNK]": 0, "turn": 1, "it": 2, "##s": 3}
    >>> tokenizer = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]"))
    >>> tokenizer.normalizer = normalizers.BertNormalizer()
    >>> tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    >>> WordPiece(tokenizer).encode("Turns it \u00fcp", sequence_length=5)
    array([1, 3, 2, 0, 0], dtype=int32)

    Reference: [Devlin et al., NAACL 2019](https://aclanthology.org/N19-1423/);
    [Song et al., EMNLP 2021](https://aclanthology.org/2021.emnlp-main.160/), sec. 2.
    Differs: `[MASK]` and other special tokens that stand in a text are text, as with
    `encode_special_tokens` of `tokenizers`: what a user types cannot end a text for the model.
    The tokenizer of keras-hub folds more characters (full-width letters, ligatures), cuts words at
    invisible ones (soft hyphens, zero-width spaces), which are left out here as in BERT, and does
    not cut at spaces that are not ASCII (no-break spaces), as here.
    """

    rules = "wordpiece"

    def __init__(self, tokenizer: Any) -> None:
        package = require("tokenizers", "vectors")
        if isinstance(tokenizer, str | os.PathLike):
            tokenizer = package.Tokenizer.from_file(str(tokenizer))
        tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)  # of transformers
        if not hasattr(tokenizer, "to_str"):
            tokenizer = _of_keras_hub(tokenizer)
        self._tokenizer = package.Tokenizer.from_str(tokenizer.to_str())  # its own: options change
        padding = (json.loads(self._tokenizer.to_str())["padding"] or {}).get("pad_token", "[PAD]")
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True
        facts = json.loads(self._tokenizer.to_str())
        for part, kind in _KINDS.items():
            if (facts[part] or {}).get("type") != kind:
                checks.fail("tokenizer", f"one with a {kind}", f"the {part} {facts[part]}"[:80])
        own = [one["content"] for one in facts["added_tokens"] if not one["special"]]
        if own:
            checks.fail("tokenizer", "one whose added tokens are special ones", own[:3])
        self._facts = facts
        self.prefix: str = facts["model"]["continuing_subword_prefix"]
        self.longest_word: int = facts["model"]["max_input_chars_per_word"]
        self._ids: dict[str, int] = self._tokenizer.get_vocab(with_added_tokens=True)
        unknown = self._ids.get(facts["model"]["unk_token"])
        if unknown is None or sorted(self._ids.values()) != list(range(len(self._ids))):
            expected = "one with ids 0, 1, 2, ... and an unknown token"
            checks.fail("tokenizer", expected, facts["model"]["unk_token"])
        self.unknown: int = unknown
        self.padding: int = self._ids.get(padding, 0)
        found = self._tokenizer.encode("a")
        first = found.special_tokens_mask.index(0)
        self.before: list[int] = found.ids[:first]
        self.after: list[int] = found.ids[first + 1 :]

    def __len__(self) -> int:
        """Number of ids, special ones included: `input_dim` of an embedding."""
        return len(self._ids)

    def __repr__(self) -> str:
        return f"<WordPiece of {len(self)} ids>"

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens, by id."""
        return tuple(sorted(self._ids, key=self._ids.__getitem__))

    @functools.cached_property
    def num_bytes(self) -> int:
        """Bytes of the tokens as lines of text."""
        return sum(len(token.encode()) + 1 for token in self._ids)

    @functools.cached_property
    def sha256(self) -> str:
        """Checksum of all that decides ids."""
        return hashlib.sha256(self._tokenizer.to_str().encode()).hexdigest()

    def encode(self, text: str, sequence_length: int | None = None) -> np.ndarray:
        """Ids of a text with the special tokens around it, int32, cut or padded to a given length.

        Where ids are too many, those of the end go, but for the special ones. The character NUL,
        and bytes that are not UTF-8, are dropped, as in a file.

        Raises: ValueError, if `text` is no `str` or `sequence_length` too small an integer.
        """
        if not isinstance(text, str):
            checks.fail("text", "a str", text)
        found = self._tokenizer.encode(_clean("text", text), add_special_tokens=False)
        return self._row(found.ids, sequence_length)

    def encode_all(self, texts: Iterable[str], sequence_length: int) -> np.ndarray:
        """Ids of all texts, int32 `(n, sequence_length)`, cut or padded at the end.

        Raises: ValueError, if `texts` is no list of `str` or `sequence_length` too small.
        """
        texts = inputs.strings("texts", texts)
        texts = [_clean(f"texts[{place}]", text) for place, text in enumerate(texts)]
        found = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        rows = [self._row(one.ids, sequence_length) for one in found]
        return np.stack(rows) if rows else np.zeros((0, sequence_length), np.int32)

    def _row(self, ids: list[int], length: int | None) -> np.ndarray:
        around = len(self.before) + len(self.after)
        if length is not None:
            length = checks.integer_in("sequence_length", length, around + 1)
            ids = ids[: length - around]
        row = [*self.before, *ids, *self.after]
        padding = [] if length is None else [self.padding] * (length - len(row))
        return np.array([*row, *padding], np.int32)

    @functools.cached_property
    def characters(self) -> CharacterMap:
        """The map from code points to the characters of words."""
        parts = [json.dumps(self._facts[part]) for part in ("normalizer", "pre_tokenizer")]
        return character_map(
            _normal_forms(*parts), {letter for word in self._ids for letter in word}
        )

    @functools.cached_property
    def pieces(self) -> Pieces:
        """The tokens that a word can contain, in the slots of a perfect hash."""
        return pieces_of(self._ids, self.prefix, self.characters)

    @property
    def order(self) -> np.ndarray:
        """Ids in the order of a file that stores none of them, int64 `(len(self),)`.

        Padding, then the pieces by slot, then the others.

        Raises: ValueError, if a token is in two slots, or is padding as well.
        """
        placed = np.concatenate([[self.padding], self.pieces.ids])
        if len(np.unique(placed)) < len(placed):
            expected = "one whose tokens are in one slot each, to have an order"
            checks.fail("tokenizer", expected, "one with a token that begins and continues words")
        return np.concatenate([placed, np.setdiff1d(np.arange(len(self)), placed)])


def is_tokenizer(text: Any) -> bool:
    """Whether `text` is a `WordPiece`, or a tokenizer of another package.

    >>> is_tokenizer("wordpunct")
    False
    """
    named = any("Tokenizer" in kind.__name__ for kind in type(text).__mro__)
    return isinstance(text, WordPiece) or named


def _clean(name: str, text: str) -> str:
    """A text without what a file drops: zeros, and bytes that are not UTF-8."""
    return byte_words.utf8(name, text).decode("utf-8", "ignore").replace("\0", "")


@functools.lru_cache(maxsize=4)
def _normal_forms(normalizer: str, cutter: str) -> NormalForms:
    """What a normalizer and a pre-tokenizer, given as JSON, make of each code point."""
    package = require("tokenizers", "vectors")
    facts = json.loads(package.Tokenizer(package.models.WordPiece({})).to_str())
    facts |= {"normalizer": json.loads(normalizer), "pre_tokenizer": json.loads(cutter)}
    made = package.Tokenizer.from_str(json.dumps(facts))

    def cut(text: str) -> list[str]:
        return [word for word, _ in made.pre_tokenizer.pre_tokenize_str(text)]

    return normal_forms(made.normalizer.normalize_str, cut)


def _of_keras_hub(tokenizer: Any) -> Any:
    """A `tokenizers.Tokenizer` with the tokens and options of one of keras-hub."""
    if not any(kind.__name__ == "WordPieceTokenizer" for kind in type(tokenizer).__mro__):
        expected = "a tokenizers.Tokenizer, the path of a tokenizer.json, or keras-hub's WordPiece"
        checks.fail("tokenizer", expected, type(tokenizer).__name__)
    if not tokenizer.split or not tokenizer.split_on_cjk:
        checks.fail("tokenizer", "one that splits, also at ideographs", tokenizer.get_config())
    package = require("tokenizers", "vectors")
    tokens = {token: number for number, token in enumerate(tokenizer.get_vocabulary())}
    unknown, prefix = tokenizer.oov_token, tokenizer.suffix_indicator
    made = package.Tokenizer(
        package.models.WordPiece(tokens, unk_token=unknown, continuing_subword_prefix=prefix)
    )
    made.normalizer = package.normalizers.BertNormalizer(
        lowercase=tokenizer.lowercase, strip_accents=tokenizer.strip_accents
    )
    made.pre_tokenizer = package.pre_tokenizers.BertPreTokenizer()
    ends = [getattr(tokenizer, name, None) for name in ("cls_token", "sep_token")]
    if all(ends):
        named = [(end, tokens[end]) for end in ends]
        template = f"{ends[0]} $A {ends[1]}"
        made.post_processor = package.processors.TemplateProcessing(
            single=template, special_tokens=named
        )
    return made
