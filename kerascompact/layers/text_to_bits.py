"""Projection inside a model: UTF-8 bytes in, the bits of their words out."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored
from kerascompact.forms.projected import read_projection
from kerascompact.ops import byte_text
from kerascompact.ops.projection import stream_bits
from kerascompact.text import rules as token_rules
from kerascompact.text.byte_rules import byte_rules


@register
class TextToBits(keras.layers.Layer):
    r"""Splits texts into words and projects them, without strings, a word list or a table.

    The bits are those of `text.ngrams.projection_bits` for the tokens of the rules. No input makes
    it fail: zeros at the end of a text, and numbers that are not bytes, are padding; invalid UTF-8
    counts as letters; words past the last slot are left out. A text that ends in a NUL character
    needs a -1 after it.

    Args:
        projection: The `Projection`, or its configuration.
        rules: Name of the token rules, without pairs.
        sequence_length: Number of words of a text: shorter texts end in words without bits.
            `None`: as many as the text has.
        max_words: Largest number of words of a text, without a `sequence_length`.
        together: Whether a text gets one set of bits, from the features of all words (SGNN).
        integers: Whether sums are computed in int8, see `ops.projection.feature_sums`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: UTF-8 bytes as integers `(batch, bytes)` -> bits `(batch, words, T d)`, uint8; or
        `(batch, T d)` of all `together`.
    Storage: Nothing; the hyperplanes are products of a few integers.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> TextToBits(Projection())(np.array([[*b"Turn it down!"]])).shape
    TensorShape([1, 4, 1120])

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.2.
    Differs: for export only. Train on bits from `text.bit_pipeline`, which is faster.
    """

    EXAMPLE = dict(projection=dict(num_projections=2, projection_dim=3), sequence_length=6)

    def __init__(
        self,
        projection: Projection | Mapping[str, Any],
        rules: str = "wordpunct",
        sequence_length: int | None = None,
        max_words: int | None = None,
        together: bool = False,
        integers: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(**{"dtype": "float32", **kwargs}, autocast=False)
        self.projection = read_projection(projection)
        self.tables = byte_rules(rules)
        if token_rules.named(rules).pairs:
            checks.fail(
                "rules", "rules that form no word pairs: a projection hashes single words", rules
            )
        self.rules = rules
        self.sequence_length, self.max_words = byte_text.limits(sequence_length, max_words)
        self.together = checks.boolean("together", together)
        self.integers = checks.boolean("integers", integers)
        self.built = True

    def words(self, inputs: Any) -> byte_text.Words:
        """The words of texts `(batch, bytes)`."""
        data = byte_text.texts_of(inputs)
        return byte_text.split(data, self.tables, self.sequence_length, self.max_words)

    def read(self, words: byte_text.Words, fixed: bool = False) -> tf.Tensor:
        """The bits of words; with shapes that are `fixed`, XLA can compile this."""
        rows, owners = words.first.shape[0], words.slots
        sequence_length, width = words.sequence_length, self.projection.num_bits
        count, single = sequence_length, rows == 1
        if not single:  # slots of no word lie between those of two texts: all of them go to the end
            rows = tf.shape(words.first)[0]
            row = owners // (sequence_length + 1)
            count = rows * sequence_length
            owners = tf.where(
                owners - row * (sequence_length + 1) < sequence_length, owners - row, count
            )
        groups = tf.range(count) // sequence_length if self.together and not single else None
        bits = stream_bits(
            words.units,
            owners,
            words.places,
            count,
            self.projection,
            groups=groups,
            num_groups=rows if self.together else None,
            integers=self.integers,
            fixed=fixed,
        )
        if self.together:
            return tf.reshape(bits, [rows, width])
        if single and not isinstance(sequence_length, int):
            sequence_length = -1
        return tf.reshape(bits, [rows, sequence_length, width])

    def call(self, inputs: Any) -> tf.Tensor:
        return self.read(self.words(inputs), fixed=True)

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        middle = () if self.together else (self.sequence_length,)
        return keras.KerasTensor((inputs.shape[0], *middle, self.projection.num_bits), "uint8")

    def storage(self) -> list[Stored]:
        """Nothing."""
        return []

    def get_config(self) -> dict[str, Any]:
        config = super().get_config()
        config.pop("autocast", None)
        return {
            **config,
            "projection": self.projection.get_config(),
            "rules": self.rules,
            "sequence_length": self.sequence_length,
            "max_words": self.max_words,
            "together": self.together,
            "integers": self.integers,
        }
