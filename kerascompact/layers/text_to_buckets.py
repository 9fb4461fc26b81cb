"""Hashed ids inside a model: UTF-8 bytes in, buckets of words out."""

from typing import Any, Self

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.ops import byte_text
from kerascompact.text import rules as token_rules
from kerascompact.text.buckets import NUM_RESERVED, Buckets
from kerascompact.text.byte_rules import byte_rules


@register
class TextToBuckets(keras.layers.Layer):
    r"""Splits texts into words and hashes them into buckets; nothing is stored, nothing searched.

    `id = 1 + h(word) mod b`, `h` the fingerprint of `TextToIds`, 0 for padding: exactly the ids of
    `Buckets.encode`. No input makes it fail: zeros at the end of a text, and numbers that are not
    bytes, are padding; invalid UTF-8 counts as letters; words past the last slot are left out. A
    text that ends in a NUL character needs a -1 after it.

    Args:
        num_buckets: Number of buckets `b`.
        rules: Name of the token rules.
        seed: Seed of the hash.
        sequence_length: Number of ids of a text: shorter texts end in zeros. `None`: as many as the
            text has.
        max_words: Largest number of ids of a text, without a `sequence_length`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: UTF-8 bytes as integers `(batch, bytes)` -> ids `(batch, sequence_length)`, int32.
    Storage: Nothing.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> buckets = kerascompact.text.Buckets(1000)
    >>> TextToBuckets.from_buckets(buckets)(np.array([[*b"Turn it!"]])).numpy()
    array([[964, 359, 723]], dtype=int32)

    Reference: see `text.Buckets`.
    Differs: for export only. Train on ids from `Buckets.encode_all`, which is faster.
    """

    EXAMPLE = dict(num_buckets=20, sequence_length=6)

    def __init__(
        self,
        num_buckets: int,
        rules: str = "wordpunct",
        seed: int = 1,
        sequence_length: int | None = None,
        max_words: int | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(**{"dtype": "float32", **kwargs}, autocast=False)
        self.buckets = Buckets(num_buckets, rules, seed)
        self.rules, self.pairs = rules, token_rules.named(rules).pairs
        self.tables = byte_rules(rules)
        self.sequence_length, self.max_words = byte_text.limits(sequence_length, max_words)
        self.built = True

    @classmethod
    def from_buckets(cls, buckets: Buckets, **config: Any) -> Self:
        """Makes the layer of some `Buckets`.

        Raises: ValueError, if `buckets` is no `Buckets`.

        >>> TextToBuckets.from_buckets(kerascompact.text.Buckets(9), sequence_length=2).seed
        1
        """
        if not isinstance(buckets, Buckets):
            checks.fail("buckets", "a kerascompact.text.Buckets", buckets)
        return cls(**buckets.get_config(), **config)

    @property
    def seed(self) -> int:
        """Seed of the hash."""
        return self.buckets.seed

    def words(self, inputs: Any) -> byte_text.Words:
        """The words of texts `(batch, bytes)`."""
        data = tf.cast(inputs, tf.int32)
        limits = byte_text.token_limits(self.pairs, self.sequence_length, self.max_words)
        return byte_text.split(data, self.tables, *limits)

    def read(self, words: byte_text.Words) -> tf.Tensor:
        """The ids of words, `(batch, sequence_length)`."""
        limits = self.sequence_length, self.max_words
        values = byte_text.token_hashes(words, self.seed, self.pairs, *limits)
        ids = NUM_RESERVED + tf.math.floormod(values, self.buckets.num_buckets)
        return tf.where(tf.equal(values, 0), 0, ids)  # sums of no bytes are 0

    def call(self, inputs: Any) -> tf.Tensor:
        return self.read(self.words(inputs))

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        return keras.KerasTensor((inputs.shape[0], self.sequence_length), "int32")

    def storage(self) -> list[Stored]:
        """Nothing."""
        return []

    def get_config(self) -> dict[str, Any]:
        limits = {"sequence_length": self.sequence_length, "max_words": self.max_words}
        config = {**super().get_config(), **self.buckets.get_config(), **limits}
        config.pop("autocast", None)
        return config
