"""Steps of `tf.data` that change texts at random in every epoch: words left out, texts mixed."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from kerascompact.core import checks

Step = Callable[[tf.data.Dataset], tf.data.Dataset]
WINDOW = 256  # single texts among which a partner of the same class is looked for


def seeded_step(change: Callable[..., Any], seed: int) -> Step:
    """Makes a step of a function that draws: each element gets new seeds in each epoch.

    Args:
        change: Function from an element (the parts of a tuple one by one) and a seed of two
            integers to what takes its place.
        seed: Seed of all draws.
    """

    def apply(dataset: tf.data.Dataset) -> tf.data.Dataset:
        random = tf.data.Dataset.random(seed=seed, rerandomize_each_iteration=True).batch(2)

        def step(element: Any, drawn: tf.Tensor) -> Any:
            parts = element if isinstance(element, tuple) else (element,)
            return change(*parts, seed=tf.cast(drawn, tf.int32))

        return tf.data.Dataset.zip(dataset, random).map(step, num_parallel_calls=tf.data.AUTOTUNE)

    return apply


def word_dropout_step(probability: float = 0.1, seed: int = 0) -> Step:
    """Makes a step that leaves words out: `dataset.apply(word_dropout_step())`.

    Each word is left out by itself, in each epoch others; of a text that would lose all of them the
    first stays. Words are separated by spaces; a run of white space becomes one space.

    Args:
        probability: Probability that a word is left out.
        seed: Seed of all draws.

    Returns: Function from a dataset of texts, or of tuples that begin with texts, such as `(texts,
    labels)`, to the same with shorter texts; elements are single texts or batches.

    Raises: ValueError, if the probability is not in [0, 1).

    >>> texts = tf.data.Dataset.from_tensor_slices((["turn it up now"], [3]))
    >>> for text, label in texts.apply(word_dropout_step(0.3, seed=5)):
    ...     print(text.numpy().decode(), int(label))
    turn 3

    Reference: [Iyyer et al., ACL 2015](https://aclanthology.org/P15-1162), sec. 3.3.
    """
    checks.number("probability", probability, at_least=0, below=1)

    def shorter(texts: tf.Tensor, *rest: Any, seed: tf.Tensor) -> Any:
        words = tf.strings.split(tf.reshape(texts, [-1]))
        drawn = tf.random.stateless_uniform(tf.shape(words.flat_values), seed)
        kept = words.with_flat_values(drawn >= probability)
        first = tf.equal(words.with_flat_values(tf.range(tf.size(drawn))), _starts(words))
        none = ~tf.reduce_any(kept, axis=1, keepdims=True)
        found = tf.ragged.boolean_mask(words, kept | (none & first))
        joined = tf.reshape(tf.strings.reduce_join(found, -1, separator=" "), tf.shape(texts))
        return (joined, *rest) if rest else joined

    return seeded_step(shorter, seed)


def _starts(words: tf.RaggedTensor) -> tf.Tensor:
    """Place of the first word of each text among all words, `(texts, 1)`."""
    return tf.cast(words.row_starts(), tf.int32)[:, tf.newaxis]


def mix_step(probability: float = 0.3, seed: int = 0) -> Step:
    """Makes a step that mixes two texts of a class: `dataset.apply(mix_step())`.

    A mixed text is the beginning of a text and the end of another one with the same label, cut at
    the same share of their words. The partner is drawn among the texts of the batch, of single
    texts among 256 that follow each other: shuffle before. A text without a partner stays.

    Args:
        probability: Probability that a text is mixed.
        seed: Seed of all draws.

    Returns: Function from a dataset of `(texts, labels)`, or of longer tuples, to the same with
    mixed texts; elements are single texts or batches, labels integers.

    Raises: ValueError, if the probability is not in [0, 1].

    >>> texts = ["turn it up", "play it louder", "be quiet"]
    >>> dataset = tf.data.Dataset.from_tensor_slices((texts, [0, 0, 1])).batch(3)
    >>> for mixed, labels in dataset.apply(mix_step(1.0, seed=2)):
    ...     print([text.decode() for text in mixed.numpy()])
    ['turn it louder', 'play it up', 'be quiet']

    Reference: [Guo et al., 2019](https://arxiv.org/abs/1905.08941), mixing of texts. Differs: words
    are mixed, not vectors, and only within a class.
    """
    checks.number("probability", probability, at_least=0, up_to=1)

    def mixed(texts: tf.Tensor, labels: tf.Tensor, *rest: Any, seed: tf.Tensor) -> Any:
        seeds = tf.unstack(tf.random.split(seed, 3))
        count = tf.shape(texts)[0]
        same = labels[:, tf.newaxis] == labels[tf.newaxis, :]
        others = same & ~tf.eye(count, dtype=tf.bool)
        scores = tf.where(others, tf.random.stateless_uniform((count, count), seeds[0]), -1.0)
        partner = tf.argmax(scores, axis=1, output_type=tf.int32)
        chosen = tf.random.stateless_uniform((count,), seeds[1]) < probability
        chosen &= tf.reduce_any(others, axis=1)
        share = tf.random.stateless_uniform((count,), seeds[2])
        words = tf.strings.split(texts)
        ends = tf.gather(words, partner)
        cut, other = (tf.cast(_part(one, share), tf.int64) for one in (words, ends))
        both = tf.concat([_head(words, cut), _tail(ends, other)], axis=1)
        joined = tf.strings.reduce_join(both, -1, separator=" ")
        return tf.where(chosen, joined, texts), labels, *rest

    def apply(dataset: tf.data.Dataset) -> tf.data.Dataset:
        single = dataset.element_spec[0].shape.rank == 0
        batches = dataset.batch(WINDOW) if single else dataset
        found = batches.apply(seeded_step(mixed, seed))
        return found.unbatch() if single else found

    return apply


def _part(words: tf.RaggedTensor, share: tf.Tensor) -> tf.Tensor:
    """Number of words before the cut of each text."""
    return tf.math.ceil(tf.cast(words.row_lengths(), tf.float32) * share)


def _head(words: tf.RaggedTensor, count: tf.Tensor) -> tf.RaggedTensor:
    return tf.ragged.boolean_mask(words, tf.ragged.range(words.row_lengths()) < count[:, None])


def _tail(words: tf.RaggedTensor, count: tf.Tensor) -> tf.RaggedTensor:
    return tf.ragged.boolean_mask(words, tf.ragged.range(words.row_lengths()) >= count[:, None])
