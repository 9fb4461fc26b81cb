"""Something for every word, a part of the vocabulary after the other, in operators of TFLite."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

PART, MOST_PARTS = 2048, 16


def in_parts(
    columns_of: Callable[[tf.Tensor], tf.Tensor], count: int, anything: tf.Tensor
) -> tf.Tensor:
    """Puts `columns_of(ids)` of all ids below `count` side by side, part by part.

    The parts are written out, 16 at most: no loop, so that it converts with any shape and compiles
    under XLA. The ids depend on a number that the converter does not know (and that is always 0),
    or it would look up everything at once and store the result in the file.

    Args:
        columns_of: int32 ids `(m,)` -> `(n, m)`.
        count: Number of ids.
        anything: Any float tensor `(..., d)` of the model, to take the unknown 0 from.

    Returns: `(n, count)`.

    >>> in_parts(lambda ids: 2 * ids[None], 3, tf.zeros(1)).numpy().tolist()
    [[0, 2, 4]]
    """
    zero = unknown_zero(anything)
    size = max(PART, -(-count // MOST_PARTS))
    parts = []
    for start in range(0, count, size):
        parts.append(columns_of(run_of_ids(zero + start, min(size, count - start))))
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=-1)


def run_of_ids(start: tf.Tensor, length: int) -> tf.Tensor:
    """The ids `start ... start + length - 1`, `(length,)`.

    As a square: a constant of `length` numbers would be in the file, and be as long as some tables.

    >>> run_of_ids(tf.constant(7), 3).numpy().tolist()
    [7, 8, 9]
    """
    side = int(np.ceil(np.sqrt(length)))
    steps = np.arange(side, dtype=np.int32)
    square = (start + steps * side)[:, None] + steps
    return tf.reshape(square, [side * side])[:length]


def unknown_zero(anything: tf.Tensor) -> tf.Tensor:
    """An int32 0 that is not known before the model runs, whatever numbers `anything` holds.

    >>> int(unknown_zero(tf.constant([float("nan"), float("inf")])))
    0
    >>> int(unknown_zero(tf.zeros((0, 4))))
    0
    """
    # In a file of full_int8 both are integers of one scale; infinity, to compare with, is none.
    # Row by row, so that it also holds without any row; NaN is not below itself.
    below = tf.reduce_max(anything, axis=-1) < tf.reduce_min(anything, axis=-1)
    return tf.cast(tf.reduce_any(below), tf.int32)
