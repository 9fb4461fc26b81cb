"""Base of layers that find the ids of a text's words by their hashes."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.ops import byte_text, word_hashes
from kerascompact.text import rules as token_rules
from kerascompact.text.byte_rules import byte_rules


class TextToHashes(keras.layers.Layer):
    """Base of layers from UTF-8 bytes to ids; a subclass has `ids_of`.

    Args:
        rules: Name of the token rules.
        seed: Seed of the hash.
        sequence_length: Number of ids of a text: shorter texts end in zeros. `None`: as many as the
            text has.
        max_words: Largest number of ids of a text, without a `sequence_length`.
        **kwargs: Arguments of `keras.layers.Layer`.
    """

    def __init__(
        self,
        rules: str,
        seed: int,
        sequence_length: int | None,
        max_words: int | None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(**{"dtype": "float32", **kwargs}, autocast=False)
        self.rules, self.pairs = rules, token_rules.named(rules).pairs
        self.tables, self.seed = byte_rules(rules).without_nul, seed
        self.sequence_length, self.max_words = byte_text.limits(sequence_length, max_words)

    def ids_of(self, hashes: tf.Tensor) -> tf.Tensor:
        """The ids of tokens `(batch, L)`, from their hashes, of a single text `(L,)`.

        Those of hash 0 are not read.
        """
        raise NotImplementedError

    def words(self, inputs: Any) -> word_hashes.Hashable:
        """The words of texts `(batch, bytes)`."""
        data = byte_text.texts_of(inputs)
        limits = byte_text.token_limits(self.pairs, self.sequence_length, self.max_words)
        return word_hashes.split(data, self.tables, *limits)

    def read(self, words: word_hashes.Hashable) -> tf.Tensor:
        """The ids of words, `(batch, sequence_length)`; 0 where there is no word."""
        limits = self.sequence_length, self.max_words
        hashes = word_hashes.token_hashes(words, self.seed, self.pairs, *limits)
        return tf.where(tf.equal(hashes, 0), 0, self.ids_of(hashes))  # sums of no bytes are 0

    def spans(self, words: word_hashes.Hashable) -> tf.Tensor:
        """Where each word begins and ends, see `ops.word_hashes.spans`."""
        return word_hashes.spans(words)

    def call(self, inputs: Any) -> tf.Tensor:
        return self.read(self.words(inputs))

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        return keras.KerasTensor((inputs.shape[0], self.sequence_length), "int32")

    def get_config(self) -> dict[str, Any]:
        names = ("rules", "seed", "sequence_length", "max_words")
        config = {**super().get_config(), **{name: getattr(self, name) for name in names}}
        config.pop("autocast", None)
        return config
