"""Each id of a batch once, so that a step costs what the batch's different ids cost."""

import tensorflow as tf


def unique_ids(ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Names every id once; what is computed for them goes back to all places by a gather.

    `tf.gather(unique, inverse) == ids`. Most tokens of a text repeat: 25,600 drawn by
    Zipf's law from 62,000 words have some 8,300 different ids, so that whatever is computed for
    each id costs a third.

    Args:
        ids: int32 or int64, any shape, none included.

    Returns: `unique` `(n,)`, the ids in the order in which they first occur, and `inverse`, the
    place of every id in `unique`, int32 of the shape of `ids`.

    >>> unique, inverse = unique_ids(tf.constant([[7, 3], [7, 9]]))
    >>> unique.numpy().tolist(), inverse.numpy().tolist()
    ([7, 3, 9], [[0, 1], [0, 2]])
    """
    ids = tf.convert_to_tensor(ids)
    if ids.shape.num_elements() == 1:  # XLA fails to transpose or divide "at most 1" row
        return tf.reshape(ids, [1]), tf.zeros(ids.shape, tf.int32)
    unique, inverse = tf.unique(tf.reshape(ids, [-1]))
    return unique, tf.reshape(inverse, tf.shape(ids))


def occurrences(unique: tf.Tensor, inverse: tf.Tensor) -> tf.Tensor:
    """How often each of the unique ids occurs in the batch, `(n,)` float32.

    >>> occurrences(*unique_ids(tf.constant([7, 3, 7]))).numpy().tolist()
    [2.0, 1.0]
    """
    places = tf.reshape(inverse, [-1])
    return tf.math.unsorted_segment_sum(tf.ones_like(places, tf.float32), places, tf.size(unique))


def row_numbers(unique: tf.Tensor, inverse: tf.Tensor) -> tf.Tensor:
    """The places of the unique ids, `0, 1, ..., n - 1`, where `tf.range(n)` is refused.

    XLA pads `unique`, so it cannot take `n` for a shape: draw random numbers for more rows, such
    as one for each id of the batch, and gather the first `n` of them by this.

    >>> row_numbers(*unique_ids(tf.constant([7, 3, 7]))).numpy().tolist()
    [0, 1]
    """
    places = tf.reshape(inverse, [-1])  # the largest of equal numbers is each of them
    return tf.math.unsorted_segment_max(places, places, tf.size(unique))
