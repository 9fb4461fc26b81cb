"""Walks of a vocabulary in chunks of ids: inside a TFLite graph, or in memory."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

CHUNK = 8192  # ids in memory: at 32 codes of 32 values, 34 MB of logits, not 1.1 GB for 268,000
GRAPH_CHUNK, MOST_GRAPH_CHUNKS = 2048, 16


def rows_in_chunks(
    rows_of: Callable[[tf.Tensor], tf.Tensor], count: int, dtype: str, size: int = CHUNK
) -> np.ndarray:
    """Computes a row for each id below `count`, `size` ids at a time, into one array.

    Args:
        rows_of: Function from int32 ids `(n,)` to rows `(n, ...)`.
        count: Number of ids in the vocabulary.
        dtype: Type of the result, such as "uint8" for codes below 256.
        size: Number of ids in a chunk.

    Returns: `(count, ...)` array.

    >>> rows_in_chunks(lambda ids: tf.stack([ids, 2 * ids], axis=1), 5, "uint8", size=2).T.tolist()
    [[0, 1, 2, 3, 4], [0, 2, 4, 6, 8]]
    """
    result = None
    for start in range(0, count, size):
        rows = rows_of(tf.range(start, min(start + size, count))).numpy()
        if result is None:
            result = np.empty((count, *rows.shape[1:]), dtype)
        result[start : start + size] = rows
    assert result is not None, "a vocabulary has at least one word"
    return result


def columns_in_chunks(
    columns_of: Callable[[tf.Tensor], tf.Tensor],
    count: int,
    anything: tf.Tensor,
    most: int = MOST_GRAPH_CHUNKS,
) -> tf.Tensor:
    """Concatenates `columns_of(ids)` over all ids below `count`, in the operators of TFLite.

    The chunks are unrolled, `most` at most: without a loop the graph converts with any shape and
    compiles under XLA. The ids depend on a zero that the converter cannot know (`unknown_zero`);
    else it would look up all of them at conversion and store the result in the file.

    Args:
        columns_of: Function from int32 ids `(m,)` to columns `(n, m)`.
        count: Number of ids in the vocabulary.
        anything: Any float tensor `(..., d)` of the model; `unknown_zero` is computed from it.
        most: Most chunks; each takes about 2 KB of the file.

    Returns: `(n, count)` tensor.

    >>> columns_in_chunks(lambda ids: 2 * ids[None], 3, tf.zeros(1)).numpy().tolist()
    [[0, 2, 4]]
    """
    size = max(GRAPH_CHUNK, -(-count // most))
    chunks: list[tf.Tensor] = []
    for start in range(0, count, size):
        # Each chunk waits for the one before, or the converter computes the codes of all of them
        # first, and holds them in memory.
        zero = unknown_zero(chunks[-1][..., :1] if chunks else anything)
        chunks.append(columns_of(id_range(zero + start, min(size, count - start))))
    return chunks[0] if len(chunks) == 1 else tf.concat(chunks, axis=-1)


def id_range(start: tf.Tensor, count: int) -> tf.Tensor:
    """The ids `start ... start + count - 1`, as a sum of two short constants.

    One constant of `count` numbers would be stored in the file, as large as some tables.

    Args:
        start: First id, an int32 scalar.
        count: Number of ids.

    Returns: int32 `(count,)`.

    >>> id_range(tf.constant(7), 3).numpy().tolist()
    [7, 8, 9]
    """
    side = int(np.ceil(np.sqrt(count)))
    steps = np.arange(side, dtype=np.int32)
    square = (start + steps * side)[:, None] + steps
    return tf.reshape(square, [side * side])[:count]


def unknown_zero(anything: tf.Tensor) -> tf.Tensor:
    """An int32 0 that is unknown until the model runs, whatever numbers `anything` holds.

    Args:
        anything: Any float tensor `(..., d)` of the model.

    Returns: int32 scalar, always 0.

    >>> int(unknown_zero(tf.constant([float("nan"), float("inf")])))
    0
    >>> int(unknown_zero(tf.zeros((0, 4))))
    0
    """
    # In a full_int8 file both sides are integers of one scale; infinity could not be compared with.
    # Row by row, so that it also holds for zero rows; NaN is not below itself.
    below = tf.reduce_max(anything, axis=-1) < tf.reduce_min(anything, axis=-1)
    return tf.cast(tf.reduce_any(below), tf.int32)
