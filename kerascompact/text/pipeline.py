"""Texts to batches of ids, as `tf.data` steps."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.text import inputs
from kerascompact.text.buckets import length_batches
from kerascompact.text.tokenize import tokenize
from kerascompact.text.vocabulary import NUM_RESERVED, Vocabulary

_CHUNK = 1024  # texts that are encoded at once: enough to fill the ops, little to hold


def encode_step(
    vocabulary: Vocabulary, sequence_length: int | None = None
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Makes the function that turns a batch of texts into ids, for `tf.data.Dataset.map`.

    Equal to `vocabulary.encode_all` on any valid UTF-8.

    Args:
        vocabulary: A `Vocabulary`; its token rules are used.
        sequence_length: Tokens per text: longer texts are cut, shorter ones end in zeros. `None`:
            as long as the longest text of the batch.
    Shapes: texts `(n,)` -> ids `(n, sequence_length)`, int32.
    Raises: ValueError, if `vocabulary` is no `Vocabulary` or `sequence_length` no integer >= 1.
    Example:
    >>> step = encode_step(Vocabulary(["turn", "it", "up"]), sequence_length=4)
    >>> step(tf.constant(["Turn it down", "up"])).numpy().tolist()
    [[2, 3, 1, 0], [4, 0, 0, 0]]
    """
    if not isinstance(vocabulary, Vocabulary):
        checks.fail("vocabulary", "a kerascompact.text.Vocabulary", vocabulary)
    if sequence_length is not None:
        sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
    words = tf.constant(vocabulary.words)
    ids = tf.range(NUM_RESERVED, len(vocabulary), dtype=tf.int32)
    # `<pad>` and `<unk>` are no keys, so a text that holds them gets the unknown word's id
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, ids), 1)

    def encode(texts: tf.Tensor) -> tf.Tensor:
        found = tf.ragged.map_flat_values(table.lookup, tokenize(texts, vocabulary.rules))
        return found.to_tensor(default_value=0, shape=(None, sequence_length))

    return encode


def batches(
    texts: Sequence[str] | Sequence[bytes],
    labels: Sequence[int] | np.ndarray,
    vocabulary: Vocabulary,
    sequence_length: int,
    batch_size: int,
    shuffle: bool = True,
    seed: int = 0,
    repeat: bool = False,
    bucket_boundaries: Sequence[int] | None = None,
) -> tf.data.Dataset:
    """Makes the dataset for `model.fit`: batches `(ids, labels)`, both int32.

    The texts are encoded once, here, not in every epoch. Every epoch has its own order; the same
    seed gives the same sequence of epochs.

    Args:
        texts: Texts, as `str` or UTF-8 bytes.
        labels: One integer per text.
        vocabulary: A `Vocabulary`.
        sequence_length: Tokens per text at most.
        batch_size: Texts per batch; the last batch may have fewer.
        shuffle: Whether to shuffle, anew in each epoch.
        seed: Seed of the shuffling.
        repeat: Whether to go on for ever, for `fit(steps_per_epoch=...)`.
        bucket_boundaries: Rising lengths in `[1, sequence_length)`. Texts are batched with others
            that fit under the same boundary and padded to it rather than to `sequence_length`: the
            LSTM runs fewer steps, on as many shapes as there are buckets. What does not fill a
            batch moves on to the next longer bucket. `None`: every batch has `sequence_length`
            columns.
    Shapes: ids `(b, sequence_length)` or `(b, boundary)`, labels `(b,)`.
    Raises: ValueError, if there are no texts, a text is no valid UTF-8 (with its index), the
        labels are not as many integers, or an argument is out of its range.
    Example:
    >>> data = batches(["up", "down"], [0, 1], Vocabulary(["up"]), 3, 2, shuffle=False)
    >>> [(ids.numpy().tolist(), y.numpy().tolist()) for ids, y in data]
    [([[2, 0, 0], [1, 0, 0]], [0, 1])]
    """
    sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
    batch_size = checks.integer_in("batch_size", batch_size, 1)
    seed = checks.integer_in("seed", seed, 0)
    encoded = inputs.utf8(texts)
    y = _labels(labels, len(encoded))
    boundaries = _boundaries(bucket_boundaries, sequence_length)
    step = encode_step(vocabulary, sequence_length)
    chunks = [
        step(tf.constant(encoded[start : start + _CHUNK])).numpy()
        for start in range(0, len(encoded), _CHUNK)
    ]
    rows = np.concatenate(chunks)
    checks.boolean("shuffle", shuffle)
    checks.boolean("repeat", repeat)
    if boundaries is not None:
        data = _bucketed(
            rows, y, [*boundaries, sequence_length], batch_size, seed if shuffle else None
        )
        return (data.repeat() if repeat else data).prefetch(tf.data.AUTOTUNE)
    data = tf.data.Dataset.from_tensor_slices((rows, y))
    if shuffle:
        data = data.shuffle(len(y), seed=seed, reshuffle_each_iteration=True)
    if repeat:
        data = data.repeat()
    return data.batch(batch_size).prefetch(tf.data.AUTOTUNE)


def _bucketed(
    rows: np.ndarray, y: np.ndarray, bounds: list[int], batch_size: int, seed: int | None
) -> tf.data.Dataset:
    """Epochs, each in its own order; without a seed bucket by bucket, in that of the texts."""
    tokens, epochs = np.count_nonzero(rows, axis=1), itertools.count()

    def epoch() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        order: Callable[[np.ndarray], Any] = np.asarray
        if seed is not None:
            order = np.random.default_rng([seed, next(epochs)]).permutation
        found = length_batches(tokens, bounds, batch_size, order)
        for number in order(np.arange(len(found))):
            chosen, bound = found[number]
            yield rows[chosen, :bound], y[chosen]

    ids, labels = tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)
    data = tf.data.Dataset.from_generator(epoch, output_signature=(ids, labels))
    # Said outright, since TensorFlow cannot count them and `fit` would warn that data ran out.
    return data.apply(tf.data.experimental.assert_cardinality(-(-len(y) // batch_size)))


def _labels(labels: Sequence[int] | np.ndarray, count: int) -> np.ndarray:
    y = np.asarray(labels)
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        checks.fail("labels", "a list of integers", labels)
    if len(y) != count:
        raise ValueError(
            f"`labels` must be as many as the texts, {count}. Received: {len(y)} labels."
        )
    return y.astype(np.int32)


def _boundaries(boundaries: Sequence[int] | None, sequence_length: int) -> list[int] | None:
    if boundaries is None:
        return None
    bounds = [checks.integer_in("bucket_boundaries", b, 1, sequence_length - 1) for b in boundaries]
    if bounds != sorted(set(bounds)):
        checks.fail("bucket_boundaries", "rising", boundaries)
    return bounds
