"""Hashed ids inside a model: UTF-8 bytes in, buckets of words out."""

from typing import Any, Self

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.layers.text_to_hashes import TextToHashes
from kerascompact.text.buckets import NUM_RESERVED, Buckets


@register
class TextToBuckets(TextToHashes):
    r"""Splits texts into words and hashes them into buckets; nothing is stored, nothing searched.

    `id = 1 + h(word) mod b`, `h` the hash of `text.word_hashes`, 0 for padding: exactly the ids of
    `Buckets.encode`. No input makes it fail: zeros, and numbers that are not bytes, are white
    space; invalid UTF-8 counts as letters; words past the last slot are left out.

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
    array([[600, 960, 997]], dtype=int32)

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
        self.buckets = Buckets(num_buckets, rules, seed)
        super().__init__(rules, seed, sequence_length, max_words, **kwargs)
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

    def ids_of(self, hashes: tf.Tensor) -> tf.Tensor:
        ids = NUM_RESERVED + tf.math.floormod(hashes, self.buckets.num_buckets)
        return tf.expand_dims(ids, 0) if ids.shape.rank == 1 else ids

    def storage(self) -> list[Stored]:
        """Nothing."""
        return []

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "num_buckets": self.buckets.num_buckets}
