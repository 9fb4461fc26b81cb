"""WordPiece inside a model: UTF-8 bytes in, BERT's ids out."""

from collections.abc import Sequence
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.characters import PAGE, ROW
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.ops import byte_text, wordpiece_text
from kerascompact.text.perfect_hash import buckets_of
from kerascompact.text.wordpiece import WordPiece

_KINDS = {8: "uint8", 16: "int16", 32: "int32"}
_TABLES = ("top", "middle", "pages", "entries", "seconds")


@register
class TextToPieces(keras.layers.Layer):
    r"""Tokenizes a text as BERT does: words, without case and accents, as the longest known pieces.

    The pieces are in the slots of a perfect hash, with a tag of 32 bits each. A piece that is not
    in the vocabulary passes for one that is if its tag is equal: one in `2**32`. All else is exact:
    the ids are those of `text.WordPiece`, which are those of the package `tokenizers`.

    No input makes it fail: zeros, numbers that are not bytes, and bytes that are not UTF-8 are
    dropped.

    Args:
        num_pieces: Number of pieces that a word can contain, `n`.
        num_tokens: Number of ids, `V`.
        sizes: Sizes of the five tables of characters.
        factors: Factors of the hashes, `(2, longest piece + 1)` integers.
        hangul: Whether syllables of Hangul are split into their letters.
        in_order: Whether ids are in the order of the slots, so that they are not stored: padding is
            0, the piece in slot `s` is `s + 1`, and `before`, `after` and `unknown` are such ids.
        before, after: Ids of the special tokens around a text.
        unknown: Id of an unknown word.
        padding: Id of padding.
        longest_word: Most characters in a word; a longer one is unknown.
        sequence_length: Number of ids of a text. `None`: as many as the text has.
        max_words: Largest number of ids of a text, without a `sequence_length`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: UTF-8 bytes of one text as integers `(1, bytes)` -> ids `(1, sequence_length)`, int32.
    Storage: `n (32 + 3.2)` bits; 16 bits more for each piece unless `in_order`, 32 if `V > 2^15`;
        and the map of characters: 14 KB for BERT's.
    Raises: ValueError, if an argument is out of its range, or there is more than one text.
    Example:
    >>> from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
    >>> tokenizer = Tokenizer(models.WordPiece({"[UNK]": 0, "up": 1, "##s": 2}, unk_token="[UNK]"))
    >>> tokenizer.normalizer = normalizers.BertNormalizer()
    >>> tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    >>> TextToPieces.from_tokenizer(tokenizer)(np.array([[*b"Ups!"]])).numpy()
    array([[1, 2, 0]], dtype=int32)

    Reference: see `text.WordPiece`; the hash: [Pibiri & Trani, SIGIR 2021](
    https://arxiv.org/abs/2104.10402).
    Differs: for export only. Train on ids from the tokenizer.
    """

    EXAMPLE = dict(num_pieces=20, num_tokens=30, factors=[[1, 3, 5], [7, 9, 11]], sequence_length=6)

    def __init__(
        self,
        num_pieces: int,
        num_tokens: int,
        sizes: Sequence[int] = (2176, 64, 8, 1, 1),
        factors: Sequence[Sequence[int]] = ((1, 1), (1, 1)),
        hangul: bool = False,
        in_order: bool = False,
        before: Sequence[int] = (),
        after: Sequence[int] = (),
        unknown: int = 0,
        padding: int = 0,
        longest_word: int = 100,
        sequence_length: int | None = None,
        max_words: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(**{"dtype": "float32", **kwargs}, autocast=False)
        self.num_pieces = checks.integer_in("num_pieces", num_pieces, 1, 2**24 - 1)
        self.num_tokens = checks.integer_in("num_tokens", num_tokens, 1, 2**31 - 1)
        self.sizes = [checks.integer_in("sizes", size, 1) for size in sizes]
        self.factors = np.array(factors, np.int32)
        self.hangul = checks.boolean("hangul", hangul)
        self.in_order = checks.boolean("in_order", in_order)
        self.before = [checks.integer_in("before", number, 0) for number in before]
        self.after = [checks.integer_in("after", number, 0) for number in after]
        self.unknown = checks.integer_in("unknown", unknown, 0)
        self.padding = checks.integer_in("padding", padding, 0)
        self.longest_word = checks.integer_in("longest_word", longest_word, 1)
        least = len(self.before) + len(self.after) + 1
        if sequence_length is not None:
            checks.integer_in("sequence_length", sequence_length, least)
            if max_words is not None:
                checks.fail("max_words", "None if there is a `sequence_length`", max_words)
        if max_words is not None:
            checks.integer_in("max_words", max_words, least)
        self.sequence_length, self.max_words = sequence_length, max_words
        self.build()

    @classmethod
    def from_tokenizer(cls, tokenizer: Any, in_order: bool = False, **config: Any) -> Self:
        """Makes the layer of a tokenizer.

        Args:
            tokenizer: A `text.WordPiece`, or what it takes.
            in_order: Whether ids are those of `WordPiece.order`, so that they are not stored.
            **config: Further arguments of the layer, such as `sequence_length`.

        Raises: ValueError, if the tokenizer is of another kind than BERT's.
        """
        if not isinstance(tokenizer, WordPiece):
            tokenizer = WordPiece(tokenizer)
        pieces, characters = tokenizer.pieces, tokenizer.characters
        arrays = characters[: len(_TABLES)]
        new = np.argsort(tokenizer.order) if in_order else np.arange(len(tokenizer))
        layer = cls(
            len(pieces.tags),
            len(tokenizer),
            [len(one) for one in arrays],
            pieces.factors,
            characters.hangul,
            in_order,
            new[tokenizer.before].tolist(),
            new[tokenizer.after].tolist(),
            int(new[tokenizer.unknown]),
            int(new[tokenizer.padding]),
            tokenizer.longest_word,
            **config,
        )
        stored = dict(zip(_TABLES, arrays, strict=True))
        stored |= {"displacements": pieces.displacements, "tags": pieces.tags}
        if not in_order:
            stored["ids"] = pieces.ids
        for name, array in stored.items():
            getattr(layer, name).assign(array)
        return layer

    def build(self, input_shape: Any = None) -> None:
        if self.built:  # since it was made: the sizes do not depend on the input
            return
        for stored in self.storage():
            variable = self.add_weight(
                stored.shape,
                "zeros",
                dtype=_KINDS[stored.bits],
                trainable=False,
                autocast=False,
                name=stored.name,
            )
            setattr(self, stored.name, variable)

    def words(self, inputs: Any) -> wordpiece_text.Found:
        """The tokens of a text `(1, bytes)`, without those around it."""
        data = byte_text.texts_of(inputs)
        if data.shape[0] != 1:
            checks.fail("inputs", "one text, (1, bytes)", f"the shape {data.shape}")
        names = (*_TABLES, "displacements", "tags")
        tables = wordpiece_text.Tables(**{name: getattr(self, name).value for name in names})
        points = wordpiece_text.code_points(tf.reshape(data, [-1]))
        units = wordpiece_text.characters(points, tables, self.hangul)
        return wordpiece_text.tokens(units, tables, self.factors, self.longest_word)

    def read(self, words: wordpiece_text.Found) -> tf.Tensor:
        """The ids of a text's tokens, with those around it, `(1, sequence_length)`."""
        return self.padded(self.row(words))

    def row(self, words: wordpiece_text.Found) -> tf.Tensor:
        """The ids of a text's tokens, with those around it, without padding, `(n,)`."""
        if self.in_order:
            ids = words.slots + 1
        else:
            ids = tf.cast(tf.gather(self.ids.value, words.slots), tf.int32)
        ids = tf.where(words.unknown, self.unknown, ids)
        limit = self.sequence_length or self.max_words
        if limit is not None:
            ids = ids[: limit - len(self.before) - len(self.after)]
        parts = [tf.constant(one, tf.int32) for one in (self.before, self.after)]
        ids = tf.concat([parts[0], ids, parts[1]], axis=0)
        if not self.before + self.after and self.sequence_length is None:
            ids = tf.concat([ids, tf.fill([1], self.padding)], axis=0)[
                : tf.maximum(tf.size(ids), 1)
            ]
        return ids

    def padded(self, row: tf.Tensor) -> tf.Tensor:
        """Ids in a row of the given length, `(1, sequence_length)`."""
        if self.sequence_length is None:
            return tf.expand_dims(row, 0)
        padding = tf.fill([self.sequence_length], self.padding)
        row = tf.concat([row, padding], axis=0)[: self.sequence_length]
        return tf.reshape(row, [1, self.sequence_length])

    def call(self, inputs: Any) -> tf.Tensor:
        return self.read(self.words(inputs))

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        return keras.KerasTensor((1, self.sequence_length), "int32")

    def storage(self) -> list[Stored]:
        """Every stored array with its bits."""
        numbers = [self.sizes[1] // ROW, self.sizes[2] // PAGE, self.sizes[3]]
        bits = [8 if count <= 2**8 else 16 for count in numbers] + [32, 32]
        stored = [
            Stored(name, (size,), width)
            for name, size, width in zip(_TABLES, self.sizes, bits, strict=True)
        ]
        stored.append(Stored("displacements", (buckets_of(self.num_pieces),), 16))
        stored.append(Stored("tags", (self.num_pieces,), 32))
        if not self.in_order:
            stored.append(Stored("ids", (self.num_pieces,), 16 if self.num_tokens <= 2**15 else 32))
        return stored

    def get_config(self) -> dict[str, Any]:
        sizes = ("num_pieces", "num_tokens", "sizes", "sequence_length", "max_words")
        rules = ("hangul", "in_order", "before", "after", "unknown", "padding", "longest_word")
        own = {name: getattr(self, name) for name in (*sizes, *rules)}
        config = {**super().get_config(), **own, "factors": self.factors.tolist()}
        config.pop("autocast", None)
        return config
