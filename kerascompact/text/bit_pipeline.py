"""`tf.data` step from texts to the bits of their words."""

from collections.abc import Callable

import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.projection import Projection
from kerascompact.ops.projection import text_bits, word_bits
from kerascompact.text import rules as token_rules
from kerascompact.text.tokenize import tokenize


def words_step(
    rules: str = "wordpunct", sequence_length: int | None = None
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Makes the function that turns a batch of texts into words, for `tf.data.Dataset.map`.

    Args:
        rules: Name of the token rules, see `kerascompact.text.rules`.
        sequence_length: Words per text: longer texts are cut, shorter ones end in empty words.
            `None`: as long as the longest text of the batch.
    Shapes: texts `(n,)` -> words `(n, sequence_length)`, strings.
    Raises: ValueError, if no rules have that name or `sequence_length` is no integer >= 1.
    Example:
    >>> words_step(sequence_length=3)(tf.constant(["Turn it up!", ""])).numpy().tolist()
    [[b'turn', b'it', b'up'], [b'', b'', b'']]
    """
    token_rules.named(rules)
    if sequence_length is not None:
        sequence_length = checks.integer_in("sequence_length", sequence_length, 1)
    return lambda texts: tokenize(texts, rules).to_tensor("", shape=(None, sequence_length))


def bits_step(
    projection: Projection | None = None,
    rules: str = "wordpunct",
    sequence_length: int | None = None,
    together: bool = False,
) -> Callable[[tf.Tensor], tf.Tensor]:
    """Makes the function that turns a batch of texts into bits, for `tf.data.Dataset.map`.

    What a model takes then are numbers, whatever words there are: GPUs, TPUs and XLA can run it.

    Args:
        projection: Settings of the projection, those of the model's `ProjectionEmbedding`:
            `layer.projection`.
        rules: Name of the token rules, see `kerascompact.text.rules`.
        sequence_length: Words per text: longer texts are cut, shorter ones end in words without
            bits. `None`: as long as the longest text of the batch.
        together: Whether the bits are those of all features of a text (SGNN).
    Shapes: texts `(n,)` -> bits `(n, words, T d)`, or `(n, T d)` of all `together`; uint8.
    Raises: ValueError, for a wrong argument.
    Example:
    >>> bits_step(sequence_length=4)(tf.constant(["Turn it up!", ""])).shape
    TensorShape([2, 4, 1120])
    """
    projection = Projection() if projection is None else projection
    if not isinstance(projection, Projection):
        checks.fail("projection", "a kerascompact.core.projection.Projection", projection)
    of = text_bits if checks.boolean("together", together) else word_bits
    words = words_step(rules, sequence_length)
    return lambda texts: of(words(texts), projection)
