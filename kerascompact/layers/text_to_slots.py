"""Lookup of words in slots inside a model: UTF-8 bytes in, ids out."""

from typing import Any, Self

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
    r"""Splits texts into words and finds their ids in a table of tags, one byte for each word.

    A word of hash `h`, the fingerprint of `TextToIds`, has the id of the last of its slots
    `(m_j h >> 8) mod n`, `j = 1 ... 3`, that holds its tag `1 + h mod 255`; else it is unknown:
    exactly the ids of `SlotVocabulary.encode`. No input makes it fail: zeros at the end of a text,
    and numbers that are not bytes, are padding; invalid UTF-8 counts as letters; words past the
    last slot are left out. A text that ends in a NUL character needs a -1 after it.

    Args:
        num_words: Number of slots `n`: the ids of the vocabulary without the two reserved ones.
        rules: Name of the token rules.
        seed: Seed of the hash.
        sequence_length: Number of ids of a text: shorter texts end in zeros. `None`: as many as the
            text has.
        max_words: Largest number of ids of a text, without a `sequence_length`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: UTF-8 bytes as integers `(batch, bytes)` -> ids `(batch, sequence_length)`, int32.
    Storage: `8 n` bits.
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
        sequence_length: int | None = None,
        max_words: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(rules, seed, sequence_length, max_words, **kwargs)
        self.num_words = checks.integer_in("num_words", num_words, 1, 2**24)
        checks.integer_in("seed", seed, 1)
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
        layer = cls(len(vocabulary.words), vocabulary.rules, vocabulary.seed, **config)
        layer.tags.assign(vocabulary.tags)
        return layer

    def build(self, input_shape: Any = None) -> None:
        if self.built:  # since it was made: the sizes do not depend on the input
            return
        self.tags = self.add_weight(
            (self.num_words,), "zeros", dtype="uint8", trainable=False, autocast=False, name="tags"
        )

    def ids_of(self, hashes: tf.Tensor) -> tf.Tensor:
        places = tf.expand_dims(hashes, -1) * slots.multipliers()
        places = tf.math.floormod(tf.bitwise.right_shift(places, slots.SHIFT), self.num_words)
        tags = tf.expand_dims(1 + tf.math.floormod(hashes, slots.TAGS), -1)
        found = tf.equal(tf.cast(tf.gather(self.tags.value, places), tf.int32), tags)
        return tf.reduce_max(tf.where(found, places + NUM_RESERVED, UNKNOWN), axis=-1)

    def storage(self) -> list[Stored]:
        """The tags."""
        return [Stored("tags", (self.num_words,), 8)]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_words": self.num_words}
