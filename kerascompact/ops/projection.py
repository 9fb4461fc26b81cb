"""Bits of words from their character n-grams, on tensors; `text.ngrams` has them in NumPy.

Hashes are int32 that wrap, sums are exact integers in float32, and every operation of `stream_bits`
is a TFLite built-in, so NumPy, TensorFlow, XLA and a file give the same bits. Bits have no
gradient, and their inputs are integers.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.ops.ngram_hashes import ngram_hashes

_WORDS = 64  # at a time: about 2,000 features, 10 MB


def stream_bits(
    units: tf.Tensor,
    words: tf.Tensor,
    places: tf.Tensor,
    num_words: int | tf.Tensor,
    projection: Projection,
    *,
    groups: tf.Tensor | None = None,
    num_groups: int | tf.Tensor | None = None,
    integers: bool = False,
    fixed: bool = False,
) -> tf.Tensor:
    """The bits of the words in a stream of bytes.

    Args:
        units: Bytes, int32 in `[0, 255]`.
        words: Word of each byte, int32 in `[0, num_words]`; `num_words` means none. A word without
            bytes has no bits.
        places: Place of each byte in its word, int32.
        num_words: Number of words `n`.
        projection: Settings of the projection.
        groups: Text of each word, int32 `(n,)` in `[0, num_groups)`, for the bits of all features
            of a text (SGNN).
        num_groups: Number of texts; 1 without `groups`: all words form one text.
        integers: Whether to multiply int8 in place of float32; the bits are the same.
        fixed: Whether shapes must not depend on the text, as XLA wants.
    Shapes: bytes `(N,)` -> bits `(n, T d)`, uint8; or `(num_groups, T d)`.
    Example:
    >>> units, words = tf.constant([104, 105, 32, 111]), tf.constant([0, 0, 2, 1])
    >>> stream_bits(units, words, tf.constant([0, 1, 0, 0]), 2, Projection()).shape
    TensorShape([2, 1120])

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.2.
    """
    hashes = ngram_hashes(units, words, places, num_words, projection, fixed)
    sums = feature_sums(hashes, projection, integers)
    rows = tf.shape(sums)[0]
    if num_groups is not None:
        whole = tf.cast(tf.reshape(sums, [-1, projection.num_bits]), tf.int32)
        if groups is None:
            sums = tf.reduce_sum(whole, axis=0, keepdims=True)
        else:
            groups = tf.concat([groups, [0]], axis=0)[:rows]  # no word adds zeros to any text
            sums = tf.math.unsorted_segment_sum(whole, groups, num_groups)
        return tf.cast(tf.greater(sums, 0), tf.uint8)
    bits = tf.cast(tf.greater(sums, 0), tf.uint8)
    bits = tf.reshape(bits, [-1, projection.num_bits])
    if isinstance(num_words, int) and not fixed:  # the last row is that of no word
        bits = tf.gather(bits, tf.minimum(np.arange(num_words, dtype=np.int32), rows - 1))
    return bits


def feature_sums(hashes: tf.Tensor, projection: Projection, integers: bool = False) -> tf.Tensor:
    """The sums whose signs are bits: `sum_f p_s(f) q_j(f)` over each row of hashes.

    Args:
        hashes: Hashes of features, int32 `(n, m)`; 0 counts as none.
        projection: Settings of the projection.
        integers: Whether to multiply int8, which takes three times as long on x86-64, for files in
            which the converter rounds every float32 tensor. The sums are the same.

    Returns: float32 or int32 `(n, a, b)`, of the `sides` of the projection; all of them integers.

    >>> some = Projection(num_projections=2, projection_dim=1)
    >>> feature_sums(tf.constant([[1, 0], [1, 1]]), some).numpy()[:, :, 0].tolist()
    [[-78.0, 12.0], [-156.0, 24.0]]
    """
    first, second = (numbers[:, None] for numbers in projection.multipliers())
    hashes = tf.expand_dims(hashes, 1)
    if integers:
        numbers = tf.cast(tf.bitwise.right_shift(hashes * first, 24), tf.int8)
        signs = tf.cast(2 * tf.bitwise.right_shift(hashes * second, 31) + 1, tf.int8)
        return tf.raw_ops.BatchMatMulV3(x=numbers, y=signs, Tout=tf.int32, adj_y=True)
    # Products of 24 significant bits, whose upper 8 a float finds three times as fast as a shift.
    numbers = tf.floor(tf.cast(hashes * first, tf.float32) * 2.0**-24)
    signs = tf.sign(tf.cast(hashes * second, tf.float32))
    return tf.matmul(numbers, signs, transpose_b=True)


def ragged_bits(words: tf.RaggedTensor, projection: Projection) -> tf.Tensor:
    """The bits of words that are rows of bytes.

    Args:
        words: Words as rows of bytes, a RaggedTensor `(n, None)` of integers.
        projection: Settings of the projection.
    Shapes: `(n, None)` -> bits `(n, T d)`, uint8.

    >>> ragged_bits(tf.ragged.constant([[104, 105], []]), Projection()).shape
    TensorShape([2, 1120])
    """
    units, owners, places = _of_rows(words)
    bits = stream_bits(units, owners, places, tf.cast(words.nrows(), tf.int32), projection)
    return tf.ensure_shape(bits, [words.shape[0], projection.num_bits])


def word_bits(words: Any, projection: Projection) -> tf.Tensor:
    """The bits of strings, for `tf.data` and for layers outside XLA.

    Each distinct word is projected once, a few words at a time.

    Args:
        words: Words, strings of any shape.
        projection: Settings of the projection.
    Shapes: words `(...)` -> bits `(..., T d)`, uint8.
    Example:
    >>> word_bits(tf.constant([["turn", "up"], ["on", ""]]), Projection()).shape
    TensorShape([2, 2, 1120])
    """
    words = tf.convert_to_tensor(words, dtype_hint=tf.string)  # the hint is for []
    distinct, index = tf.unique(tf.reshape(words, [-1]))

    def some(first: tf.Tensor) -> tf.Tensor:
        part = distinct[first : first + _WORDS]
        return stream_bits(*_bytes(part, projection), tf.size(part), projection)

    bits = _in_turn(some, tf.size(distinct), _WORDS, projection)
    shape = tf.concat([tf.shape(words), [projection.num_bits]], axis=0)
    found = tf.reshape(tf.gather(bits, index), shape)
    return tf.ensure_shape(found, [*words.shape, projection.num_bits])


def text_bits(words: Any, projection: Projection) -> tf.Tensor:
    """The bits of a text, from the features of all its words.

    Args:
        words: Words of each text, strings; empty ones do not count.
        projection: Settings of the projection.
    Shapes: words `(b, n)` -> bits `(b, T d)`, uint8.
    Example:
    >>> text_bits(tf.constant([["turn", "up"], ["on", ""]]), Projection()).shape
    TensorShape([2, 1120])

    Reference: [Ravi & Kozareva, EMNLP 2018](https://aclanthology.org/D18-1105), sec. 3.
    """
    words = tf.convert_to_tensor(words)
    texts = max(1, _WORDS // 16)

    def some(first: tf.Tensor) -> tf.Tensor:
        part = words[first : first + texts]
        flat = tf.reshape(part, [-1])
        count = tf.shape(part)[0]
        rows = tf.repeat(tf.range(count), tf.shape(part)[1])
        found = _bytes(flat, projection)
        return stream_bits(*found, tf.size(flat), projection, groups=rows, num_groups=count)

    bits = _in_turn(some, tf.shape(words)[0], texts, projection)
    return tf.ensure_shape(bits, [words.shape[0], projection.num_bits])


def bits_of(inputs: Any, projection: Projection, together: bool = False) -> Any:
    """The bits of words given as strings, as ragged bytes or as bits.

    Args:
        inputs: Strings of any shape, dense or ragged; a RaggedTensor of integers, whose rows are
            the bytes of words; or a tensor of bits.
        projection: Settings of the projection.
        together: Whether the words of the last axis form one text.
    Shapes: strings `(...)`, bytes `(..., None)` or bits `(..., T d)` -> bits `(..., T d)`, uint8;
        bits keep their type. Ragged words give ragged bits. With `together`, strings `(b, n)` or
        bytes `(b, n, None)` -> `(b, T d)`.
    Raises: ValueError, if `inputs` is none of those.

    >>> bits_of(["king", "queen"], Projection()).shape
    TensorShape([2, 1120])
    """
    if isinstance(inputs, tf.RaggedTensor):
        return _of_ragged(inputs, projection, together)
    inputs = tf.convert_to_tensor(inputs)
    if inputs.dtype == tf.string:
        if together and inputs.shape.rank != 2:
            checks.fail("inputs", "texts as rows of words, (b, n)", inputs)
        return (text_bits if together else word_bits)(inputs, projection)
    check_bits(inputs, projection)
    return inputs


def check_bits(bits: Any, projection: Projection) -> None:
    """Raises `ValueError` if the last axis of something with a shape is not that of the bits."""
    if len(bits.shape) == 0 or bits.shape[-1] not in (None, projection.num_bits):
        raise ValueError(
            f"`inputs` must be strings, a RaggedTensor of bytes, or bits (..., "
            f"{projection.num_bits}). Received: {bits.dtype} of shape {tuple(bits.shape)}."
        )


def _of_ragged(words: tf.RaggedTensor, projection: Projection, together: bool) -> Any:
    if words.dtype == tf.string:
        if together:
            return text_bits(words.to_tensor(""), projection)
        return words.with_flat_values(word_bits(words.flat_values, projection))
    if words.flat_values.shape.rank != 1 or words.ragged_rank < 1 + together:
        checks.fail("inputs", "words that are ragged rows of bytes", words)
    if not together:
        if words.ragged_rank == 1:
            return ragged_bits(words, projection)
        return words.with_values(_of_ragged(words.values, projection, False))
    if words.ragged_rank > 2:
        checks.fail("inputs", "texts as rows of words, (b, n, None)", words)
    bits = stream_bits(
        *_of_rows(words.values),
        tf.cast(words.values.nrows(), tf.int32),
        projection,
        groups=tf.cast(words.value_rowids(), tf.int32),
        num_groups=tf.cast(words.nrows(), tf.int32),
    )
    return tf.ensure_shape(bits, [words.shape[0], projection.num_bits])


def _of_rows(words: tf.RaggedTensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The bytes of words that are rows, the word of each, and its place in the word."""
    units, owners = words.flat_values, words.value_rowids()
    places = tf.range(tf.size(units)) - tf.cast(tf.gather(words.row_starts(), owners), tf.int32)
    return tf.cast(units, tf.int32), tf.cast(owners, tf.int32), places


def _bytes(words: tf.Tensor, projection: Projection) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The same of strings `(n,)`, without bytes that do not count."""
    cut = tf.strings.substr(words, 0, projection.max_word_bytes)
    units = tf.io.decode_raw(tf.strings.reduce_join(cut), tf.uint8)
    return _of_rows(tf.RaggedTensor.from_row_lengths(units, tf.strings.length(cut)))


def _in_turn(some: Any, count: tf.Tensor, step: int, projection: Projection) -> tf.Tensor:
    """Rows of bits from `some(first row)`, one part after another, which bounds the memory."""
    parts = tf.maximum(1, -(-count // step))  # eagerly, no part cannot be concatenated
    shape = [None, projection.num_bits]
    found = tf.TensorArray(tf.uint8, parts, infer_shape=False, element_shape=shape)
    _, found = tf.while_loop(
        lambda part, _: part < parts,
        lambda part, found: (part + 1, found.write(part, some(part * step))),
        (tf.constant(0), found),
    )
    return tf.reshape(found.concat(), [-1, projection.num_bits])
