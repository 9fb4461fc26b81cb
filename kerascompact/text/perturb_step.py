"""Misspellings of words as TensorFlow ops, for `tf.data`; `text.perturb` is in Python."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from kerascompact.text.augment_steps import seeded_step
from kerascompact.text.perturb import LETTERS, OPERATIONS, SHORTEST, check_options


def perturb_strings(
    words: Any,
    seed: Any,
    probability: float = 0.4,
    n: int = 1,
    operations: Sequence[str] = OPERATIONS,
) -> tf.Tensor:
    """Misspells each word with a probability, as `text.perturb.perturb` does.

    Args:
        words: UTF-8 strings, a tensor of any shape or a RaggedTensor.
        seed: Seed of two integers; equal seeds give equal misspellings.
        probability: Probability that a word is misspelt, independently of the others.
        n: Number of characters inserted, of swaps, or of copies.
        operations: Some of "insert", "swap", "duplicate".
    Shapes: words `(...)` -> words `(...)`.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> perturb_strings(["sample", "a"], seed=(0, 3), probability=1.0, operations=["swap"])
    <tf.Tensor: shape=(2,), dtype=string, numpy=array([b'smaple', b'a'], dtype=object)>

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), sec. 2.5.
    """
    check_options(probability, n, operations)
    if isinstance(words, tf.RaggedTensor):
        return words.with_flat_values(
            perturb_strings(words.flat_values, seed, probability, n, operations)
        )
    words = tf.convert_to_tensor(words, tf.string)
    seeds = tf.unstack(tf.random.split(tf.cast(seed, tf.int32), 2 + 2 * n))
    drawn = tf.random.stateless_uniform(tf.shape(words), seeds[0]) < probability
    length = tf.strings.length(words, unit="UTF8_CHAR")
    shortest = tf.constant([SHORTEST[name] for name in operations])
    fits = tf.expand_dims(length, -1) >= shortest  # (..., operations)
    # among the operations that fit, the one of the largest random number
    scores = tf.random.stateless_uniform(tf.shape(fits), seeds[1])
    chosen = tf.argmax(tf.where(fits, scores, -1.0), axis=-1, output_type=tf.int32)
    possible = drawn & tf.reduce_any(fits, axis=-1)
    found = words
    for number, name in enumerate(operations):
        changed = _CHANGES[name](words, n, seeds[2:])
        found = tf.where(possible & (chosen == number), changed, found)
    return found


def misspell_step(
    probability: float = 0.4,
    n: int = 1,
    operations: Sequence[str] = OPERATIONS,
    seed: int = 0,
) -> Callable[[tf.data.Dataset], tf.data.Dataset]:
    """Makes a step that misspells words of texts: `dataset.apply(misspell_step())`.

    Each epoch has new misspellings; equal seeds give equal ones. Words are separated by spaces; a
    run of white space becomes one space.

    Args:
        probability: Probability that a word is misspelt, independently of the others.
        n: Number of characters inserted, of swaps, or of copies.
        operations: Names of the operations to choose from.
        seed: Seed of all draws.

    Returns: Function from a dataset of texts, or of tuples that begin with texts, such as `(texts,
    labels)`, to the dataset with misspelt words; elements are single texts or batches.

    Raises: ValueError, if an argument is out of its range.

    >>> texts = tf.data.Dataset.from_tensor_slices((["turn it up"], [3]))
    >>> for text, label in texts.apply(misspell_step(probability=1.0, seed=1)):
    ...     print(text.numpy().decode(), int(label))
    trun iit uup 3
    """
    check_options(probability, n, operations)

    def misspelt(texts: tf.Tensor, *rest: Any, seed: tf.Tensor) -> Any:
        words = perturb_strings(tf.strings.split(texts), seed, probability, n, operations)
        found = tf.strings.reduce_join(words, axis=-1, separator=" ")
        return (found, *rest) if rest else found

    return seeded_step(misspelt, seed)


def _length(words: tf.Tensor) -> tf.Tensor:
    return tf.strings.length(words, unit="UTF8_CHAR")


def _places(low: int, high: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """A place in `[low, high)` for each word; 0 where there is none."""
    share = tf.random.stateless_uniform(tf.shape(high), seed)
    place = low + tf.cast(share * tf.cast(high - low, tf.float32), tf.int32)
    return tf.where(high > low, tf.minimum(place, high - 1), 0)


def _cut(words: tf.Tensor, start: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    return tf.strings.substr(words, start, tf.maximum(count, 0), unit="UTF8_CHAR")


def _insert(words: tf.Tensor, n: int, seeds: list[tf.Tensor]) -> tf.Tensor:
    for turn in range(n):
        length = _length(words)
        place = _places(1, length, seeds[2 * turn])
        number = tf.random.stateless_uniform(
            tf.shape(words), seeds[2 * turn + 1], 0, len(LETTERS), tf.int32
        )
        letter = tf.gather(tf.constant(list(LETTERS)), number)
        words = _cut(words, tf.zeros_like(place), place) + letter + _cut(words, place, length)
    return words


def _swap(words: tf.Tensor, n: int, seeds: list[tf.Tensor]) -> tf.Tensor:
    length = _length(words)
    one = tf.cast(length >= SHORTEST["swap"], tf.int32)
    for turn in range(n):
        place = _places(1, length - 2, seeds[2 * turn])
        words = (
            _cut(words, tf.zeros_like(place), place)
            + _cut(words, place + one, one)
            + _cut(words, place, one)
            + _cut(words, place + 2 * one, length)
        )
    return words


def _duplicate(words: tf.Tensor, n: int, seeds: list[tf.Tensor]) -> tf.Tensor:
    length = _length(words)
    place = _places(0, length, seeds[0])
    character = _cut(words, place, tf.ones_like(place))
    start = _cut(words, tf.zeros_like(place), place)
    return tf.strings.join([start, *[character] * n, _cut(words, place, length)])


_CHANGES: dict[str, Callable[[tf.Tensor, int, list[tf.Tensor]], tf.Tensor]] = {
    "insert": _insert,
    "swap": _swap,
    "duplicate": _duplicate,
}
