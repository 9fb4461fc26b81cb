"""Lookup table of the projection bits of a known vocabulary."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import call_on_ids, reshape_as
from kerascompact.core.projection import Projection
from kerascompact.core.registration import register
from kerascompact.forms.projected import read_projection
from kerascompact.text.ngrams import projection_bits
from kerascompact.text.vocabulary import Vocabulary


@register
class BitCache(keras.layers.Layer):
    """Looks up the projection bits of known words, so that a training step reads no text.

    `cache(ids)` gives the bits that `ProjectionEmbedding` computes from the words of these ids.
    They are computed once, packed, and not trained. A model of ids is `text_cnn(lambda ids:
    embedding(cache(ids)), classes)`; a step of `tf.data` is `cache.lookup`. Words outside of the
    vocabulary need no other model: `embedding` takes their bits or their text.

    Args:
        input_dim: Vocabulary size `V`, in ids.
        projection: The `Projection` that made the bits, or its configuration.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: ids `(...)`, integers in `[0, V)` -> bits `(..., T d)`, as numbers of the layer's
        compute type; those of `lookup` are uint8.
    Storage: `8 ceil(T d / 8)` bits for each id, if the model ships with ids.
    Raises: ValueError, if an argument is wrong, or (outside a graph) an id is out of range.
    Example:
    >>> cache = BitCache.from_words(["", "king", "queen"])
    >>> cache(np.array([[1, 2, 0]])).shape
    TensorShape([1, 3, 1120])

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.2, for the
        bits.
    """

    def __init__(
        self,
        input_dim: int,
        projection: Projection | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(autocast=False, **kwargs)
        self.input_dim = checks.integer_in("input_dim", input_dim, 1)
        self.projection = read_projection(projection)

    @classmethod
    def from_words(
        cls,
        words: Sequence[str] | Sequence[bytes],
        projection: Projection | None = None,
        **kwargs: Any,
    ) -> Self:
        """Makes the cache of `words`, one per id. An empty word is padding: its bits are all 0.

        Raises: ValueError, if `words` is empty, or one is neither `str` nor bytes.
        """
        if len(words) == 0:
            checks.fail("words", "a list of at least one word", words)
        cache = cls(len(words), projection, **kwargs)
        cache.build()
        packed = [
            np.packbits(projection_bits(words[start : start + 4096], cache.projection), axis=1)
            for start in range(0, len(words), 4096)
        ]
        cache.packed.assign(np.concatenate(packed))
        return cache

    @classmethod
    def from_vocabulary(
        cls, vocabulary: Vocabulary, projection: Projection | None = None, **kwargs: Any
    ) -> Self:
        """Makes the cache of a `Vocabulary`; padding has no bits, unknown words those of `<unk>`.

        >>> BitCache.from_vocabulary(Vocabulary(["up", "down"])).input_dim
        4
        """
        if not isinstance(vocabulary, Vocabulary):
            checks.fail("vocabulary", "a kerascompact.text.Vocabulary", vocabulary)
        return cls.from_words(["", "<unk>", *vocabulary.words], projection, **kwargs)

    def build(self, input_shape: Any = None) -> None:
        self.packed = self.add_weight(
            shape=(self.input_dim, -(-self.projection.num_bits // 8)),
            initializer="zeros",
            dtype="uint8",
            trainable=False,
            autocast=False,
            name="packed",
        )
        self.built = True

    def lookup(self, ids: Any) -> tf.Tensor:
        """The bits of integer ids, for `tf.data` and in `call`."""
        rows = tf.cast(tf.gather(self.packed.value, ids), tf.int32)
        places = np.arange(7, -1, -1, dtype=np.int32)
        bits = tf.math.floormod(tf.bitwise.right_shift(tf.expand_dims(rows, -1), places), 2)
        bits = reshape_as(bits, rows, 8 * rows.shape[-1], inner=1)
        return tf.cast(bits[..., : self.projection.num_bits], tf.uint8)

    def call(self, inputs: Any) -> Any:
        return call_on_ids(self, inputs, self.lookup)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape, self.projection.num_bits)

    def compute_output_spec(self, inputs: Any, **_: Any) -> keras.KerasTensor:
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "projection": self.projection.get_config(),
        }
