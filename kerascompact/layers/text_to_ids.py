"""Vocabulary lookup inside a model: UTF-8 bytes in, ids out."""

from typing import Any, Self

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import Stored, code_bits
from kerascompact.ops import bits, byte_text
from kerascompact.text import fingerprints
from kerascompact.text import rules as token_rules
from kerascompact.text.byte_rules import byte_rules
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary


@register
class TextToIds(keras.layers.Layer):
    r"""Splits texts into words and looks up their ids, without strings or a word list.

    Each word becomes a fingerprint of 32 bits, `sum_i fmix32(0x9E3779B1 (256 i + c_i) + s)` over
    its bytes `c_i`, which is searched in the sorted fingerprints of the vocabulary. The ids are
    those of `Vocabulary.encode`, but for an unknown word whose fingerprint is that of a known one,
    or 0, which is padding: one unknown word in `2**32 / (n + 1)`, or in `2**b / (n + 1)` with
    `fingerprint_bits=b`. With rules that have pairs, words and pairs take turns, and the
    fingerprint of a pair is made from those of its words; there are so many unknown pairs that
    long texts want 40 bits.

    No input makes it fail: zeros at the end of a text, and numbers that are not bytes, are padding;
    invalid UTF-8 counts as letters; words past the last slot are left out. A text that ends in a
    NUL character needs a -1 after it.

    Args:
        num_words: Number of words in the vocabulary, `n`, without the two reserved ids.
        rules: Name of the token rules.
        sequence_length: Number of ids of a text: shorter texts end in zeros. `None`: one id per
            word.
        max_words: Largest number of ids of a text, without a `sequence_length`.
        fingerprint_bits: Bits of a fingerprint: 32, 40 or 64.
        seed, below, window: Seed and bounds of the search in the sorted fingerprints;
            `from_vocabulary` finds them.
        in_order: Whether ids are in the order of the fingerprints, so that ids are not stored.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: UTF-8 bytes as integers `(batch, bytes)` -> ids `(batch, sequence_length)`, int32.
    Storage: `n (fingerprint_bits + ceil(log2 n))` bits: 5.5 bytes a word at 4,096 words; 4 bytes
        from a vocabulary in file order (`training.choose_words`).
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> layer = TextToIds.from_vocabulary(Vocabulary(["turn", "it", "up"]))
    >>> layer(np.array([[*b"Turn it down!"]])).numpy()
    array([[2, 3, 1, 1]], dtype=int32)

    Reference: none for the search; the mixing is the finalizer of
    [MurmurHash3](https://github.com/aappleby/smhasher).
    Differs: for export only. Train on ids from `kerascompact.text`, which is faster.
    """

    EXAMPLE = dict(num_words=20, sequence_length=6)

    def __init__(
        self,
        num_words: int,
        rules: str = "wordpunct",
        sequence_length: int | None = None,
        max_words: int | None = None,
        fingerprint_bits: int = 32,
        seed: int = 1,
        below: int = 0,
        window: int | None = None,
        in_order: bool = False,
        **kwargs: Any,
    ) -> None:
        kwargs.setdefault("trainable", False)
        super().__init__(**{"dtype": "float32", **kwargs}, autocast=False)
        self.num_words = checks.integer_in("num_words", num_words, 1, 2**24)
        self.tables = byte_rules(rules)
        self.rules, self.pairs = rules, token_rules.named(rules).pairs
        self.sequence_length, self.max_words = byte_text.limits(sequence_length, max_words)
        self.fingerprint_bits = checks.choice("fingerprint_bits", fingerprint_bits, (32, 40, 64))
        self.seed = checks.integer_in("seed", seed, 1)
        self.below = checks.integer_in("below", below, 0)
        window = num_words if window is None else window
        self.window = checks.integer_in("window", window, 1, num_words)
        self.in_order = checks.boolean("in_order", in_order)
        width = max(1, code_bits(num_words))
        self.order_bits = width if width <= bits.MAX_BITS else 24
        self.build()

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary, **config: Any) -> Self:
        """Makes the layer of a vocabulary.

        Raises: ValueError, if `vocabulary` is no `Vocabulary`, or no seed separates all its words
            (above about 150,000 words).

        >>> layer = TextToIds.from_vocabulary(Vocabulary(["up"]), sequence_length=2)
        >>> layer(np.array([[*b"up"]])).numpy()
        array([[2, 0]], dtype=int32)
        """
        if not isinstance(vocabulary, Vocabulary):
            checks.fail("vocabulary", "a kerascompact.text.Vocabulary", vocabulary)
        found = fingerprints.index(vocabulary.words)
        layer = cls(
            len(vocabulary.words),
            vocabulary.rules,
            seed=found.seed,
            below=found.below,
            window=found.window,
            in_order=bool(np.all(found.order[1:] > found.order[:-1])),
            **config,
        )
        layer.fingerprints.assign(found.table)
        if not layer.in_order:
            layer.order.assign(_packed(found.order, layer.order_bits))
        if layer.fingerprint_bits > 32:
            encoded = [word.encode() for word in vocabulary.words]
            second = fingerprints.fingerprints(encoded, layer.second_seed)
            kept = 255 if layer.fingerprint_bits == 40 else -1  # of its bits
            layer.second.assign(second[found.order] & kept)
        return layer

    @property
    def second_seed(self) -> int:
        """Seed of the other half of fingerprints of more than 32 bits."""
        return self.seed + fingerprints.SEEDS

    def build(self, input_shape: Any = None) -> None:
        if self.built:  # since it was made: the sizes do not depend on the input
            return
        self.fingerprints = self._array("fingerprints", self.num_words, "int32")
        if not self.in_order:
            size = len(_packed(np.zeros(self.num_words, np.int64), self.order_bits))
            self.order = self._array("order", size, "uint8")
        if self.fingerprint_bits > 32:
            kind = "uint8" if self.fingerprint_bits == 40 else "int32"
            self.second = self._array("second", self.num_words, kind)

    def _array(self, name: str, size: int, dtype: str) -> keras.Variable:
        return self.add_weight(
            (size,), "zeros", dtype=dtype, trainable=False, autocast=False, name=name
        )

    def words(self, inputs: Any) -> byte_text.Words:
        """The words of texts `(batch, bytes)`."""
        data = byte_text.texts_of(inputs)
        fixed, most = byte_text.token_limits(self.pairs, self.sequence_length, self.max_words)
        return byte_text.split(data, self.tables, fixed, most)

    def read(self, words: byte_text.Words) -> tf.Tensor:
        """The ids of words, `(batch, sequence_length)`."""
        values = self._hashed(words, self.seed)
        there = tf.not_equal(values, 0)  # sums of no bytes are 0; to count slots, a range is stored
        table = self.fingerprints.value
        place = byte_text.search(table, values, self.below, self.window)
        known = tf.equal(tf.gather(table, place), values)
        if self.fingerprint_bits > 32:
            second = self._hashed(words, self.second_seed)
            there = tf.logical_or(there, tf.not_equal(second, 0))
            stored = tf.cast(tf.gather(self.second.value, place), tf.int32)
            if self.fingerprint_bits == 40:
                second = tf.math.floormod(second, 256)  # TFLite has no AND of bits
            known = tf.logical_and(known, tf.equal(stored, second))
        if not self.in_order:
            place = _unpacked(self.order.value, place, self.order_bits)
        ids = tf.where(known, place + NUM_RESERVED, 1)
        return tf.where(there, ids, 0)

    def _hashed(self, words: byte_text.Words, seed: int) -> tf.Tensor:
        """The fingerprints behind the ids."""
        limits = self.sequence_length, self.max_words
        return byte_text.token_hashes(words, seed, self.pairs, *limits)

    def call(self, inputs: Any) -> tf.Tensor:
        return self.read(self.words(inputs))

    def compute_output_spec(self, inputs: Any) -> keras.KerasTensor:
        return keras.KerasTensor((inputs.shape[0], self.sequence_length), "int32")

    def storage(self) -> list[Stored]:
        """Every stored array with its bits."""
        stored = [Stored("fingerprints", (self.num_words,), 32)]
        if not self.in_order:
            stored.append(Stored("order", (self.num_words,), self.order_bits))
        if self.fingerprint_bits > 32:
            stored.append(Stored("second", (self.num_words,), self.fingerprint_bits - 32))
        return stored

    def get_config(self) -> dict[str, Any]:
        names = ("num_words", "rules", "sequence_length", "max_words", "fingerprint_bits")
        own = {
            name: getattr(self, name) for name in (*names, "seed", "below", "window", "in_order")
        }
        config = {**super().get_config(), **own}
        config.pop("autocast", None)
        return config


def _packed(order: np.ndarray, width: int) -> np.ndarray:
    """Numbers in as few bits as they need; more than `bits.pack` can read lie in 3 bytes each."""
    if width <= bits.MAX_BITS:
        return bits.pack(order, width)
    return (order[:, None] >> np.arange(0, 24, 8) & 255).astype(np.uint8).reshape(-1)


def _unpacked(stream: tf.Tensor, place: tf.Tensor, width: int) -> tf.Tensor:
    if width <= bits.MAX_BITS:
        return bits.unpack(stream, place, width)
    low, middle, high = (bits.unpack(stream, 3 * place + byte, 8) for byte in range(3))
    return low + 256 * middle + 65536 * high
