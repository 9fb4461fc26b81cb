"""Lookup of words in slots inside a model: UTF-8 bytes in, ids out."""

from typing import Any, Self

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.layers.text_to_hashes import TextToHashes
from kerascompact.text import slots
from kerascompact.text.slot_vocabulary import SlotVocabulary
from kerascompact.text.vocabulary import NUM_RESERVED, UNKNOWN


@register
class TextToSlots(TextToHashes):
    r"""Splits texts into words and finds their ids in a table of tags, 1 to 3 bytes for each word.

    A word of hash `h`, see `text.word_hashes`, has the id of the last of its slots `h mod n`,
    `h mod (n - 1)`, `h mod (n - 2)` that holds its tag, the upper bits of `h`; else it is unknown:
    exactly the ids of `SlotVocabulary.encode`. No input makes it fail: zeros, and numbers that are
    not bytes, are white space; invalid UTF-8 counts as letters; words past the last slot are left
    out.

    Args:
        num_words: Number of slots `n`: the ids of the vocabulary without the two reserved ones.
        rules: Name of the token rules.
        seed: Seed of the hash.
        tag_bits: Bits of a word's tag, 8, 16 or 24.
        sequence_length: Number of ids of a text: shorter texts end in zeros. `None`: as many as the
            text has.
        max_words: Largest number of ids of a text, without a `sequence_length`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: UTF-8 bytes as integers `(batch, bytes)` -> ids `(batch, sequence_length)`, int32.
    Storage: `tag_bits * n` bits.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> words = kerascompact.text.SlotVocabulary.from_ranked(["turn", "it", "up"], size=6)
    >>> ids = TextToSlots.from_vocabulary(words)(np.array([[*b"Turn it down!"]])).numpy()[0]
    >>> ids.tolist() == [words.id_of("turn"), words.id_of("it"), 1, 1]
    True

    Reference: see `text.SlotVocabulary`.
    Differs: for export only. Train on ids from `SlotVocabulary.encode_all`, which is faster.
    """

    EXAMPLE = dict(num_words=20, sequence_length=6)

    def __init__(
        self,
        num_words: int,
        rules: str = "wordpunct",
        seed: int = 1,
        tag_bits: int = 8,
        sequence_length: int | None = None,
        max_words: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rules, seed, sequence_length, max_words, **kwargs)
        self.num_words = checks.integer_in("num_words", num_words, 1, 2**24)
        checks.integer_in("seed", seed, 1)
        self.tag_bits = checks.choice("tag_bits", tag_bits, slots.TAG_BITS)
        self.build()

    @classmethod
    def from_vocabulary(cls, vocabulary: SlotVocabulary, **config: Any) -> Self:
        """Makes the layer of a vocabulary.

        Raises: ValueError, if `vocabulary` is no `SlotVocabulary`.

        >>> words = kerascompact.text.SlotVocabulary.from_ranked(["up"], size=3)
        >>> TextToSlots.from_vocabulary(words, sequence_length=2)(np.array([[*b"up"]])).numpy()
        array([[2, 0]], dtype=int32)
        """
        if not isinstance(vocabulary, SlotVocabulary):
            checks.fail("vocabulary", "a kerascompact.text.SlotVocabulary", vocabulary)
        own = (vocabulary.rules, vocabulary.seed, vocabulary.tag_bits)
        layer = cls(len(vocabulary.words), *own, **config)
        if layer.tag_bits == 24:
            layer.lower.assign(vocabulary.tags & 255)
            layer.tags.assign(vocabulary.tags >> 8)
        else:
            layer.tags.assign(vocabulary.tags)
        return layer

    def build(self, input_shape: Any = None) -> None:
        if self.built:  # since it was made: the sizes do not depend on the input
            return
        self.tags = self._array("tags", "int8" if self.tag_bits == 8 else "int16")
        if self.tag_bits == 24:
            self.lower = self._array("lower", "uint8")

    def _array(self, name: str, dtype: str) -> keras.Variable:
        shape = (self.num_words,)
        return self.add_weight(
            shape, "zeros", dtype=dtype, trainable=False, autocast=False, name=name
        )

    def ids_of(self, hashes: tf.Tensor) -> tf.Tensor:
        rank = hashes.shape.rank
        moduli = slots.moduli(self.num_words).reshape(-1, *(1,) * rank)
        places = tf.math.floormod(hashes, moduli)  # a row for each choice
        bits = min(self.tag_bits, 16)
        found = _equal(self.tags, places, tf.bitwise.right_shift(hashes, 32 - bits))
        if self.tag_bits == 24:
            lower = tf.math.floormod(tf.bitwise.right_shift(hashes, 8), 256)
            found = tf.logical_and(found, _equal(self.lower, places, lower))
        ids = tf.where(found, places + NUM_RESERVED, UNKNOWN)
        return tf.reduce_max(ids, axis=0, keepdims=rank == 1)

    def storage(self) -> list[Stored]:
        """The tags."""
        return [Stored("tags", (self.num_words,), self.tag_bits)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_words": self.num_words, "tag_bits": self.tag_bits}


def _equal(table: keras.Variable, places: tf.Tensor, tags: tf.Tensor) -> tf.Tensor:
    return tf.equal(tf.cast(tf.gather(table.value, places), tf.int32), tags)
