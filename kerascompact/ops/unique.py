"""Unique ids of a batch, so that a step costs what the different ids cost."""

import tensorflow as tf

from kerascompact.ops.static_unique import distinct_rows, static_sums, static_unique
from kerascompact.ops.xla import compiles_with_xla


def unique_ids(ids: tf.Tensor, num_rows: int | None = None) -> tuple[tf.Tensor, tf.Tensor]:
    """Unique ids of a batch, and the place of each id in them.

    `tf.gather(unique, inverse) == ids`. Most tokens of a text repeat: 25,600 drawn by
    Zipf's law from 62,000 words have some 8,300 different ids, so that work per id costs a
    third.

    Args:
        ids: Ids, int32 or int64 of any shape, also empty.
        num_rows: Number of rows `V` that ids choose from. Under XLA, which must know shapes, there
            are then `min(number of ids, V)` results; those after the unique ids repeat one of them,
            and `inverse` never points there: they have 0 `occurrences`. `None`: XLA sorts the ids,
            which takes far longer, see `ops.static_unique`.

    Returns: `unique` `(n,)`, the ids in the order in which they first occur, and `inverse`, the
    place of every id in `unique`, int32 of the shape of `ids`.

    >>> unique, inverse = unique_ids(tf.constant([[7, 3], [7, 9]]))
    >>> unique.numpy().tolist(), inverse.numpy().tolist()
    ([7, 3, 9], [[0, 1], [0, 2]])
    """
    ids = tf.convert_to_tensor(ids)
    flat = tf.reshape(ids, [-1])
    if ids.shape.rank and is_padded(ids):
        # A reshape, and a cumulative sum alone, would count what XLA has padded.
        none = tf.zeros_like(ids, tf.int32)
        if ids.shape.rank == 1 and _is_distinct(ids):
            return ids, tf.cumsum(tf.ones_like(ids, tf.int32)) - 1 + none
        real = _without_padding(ids)[0]
        unique, inverse = tf.unique(real if ids.shape.rank == 1 else tf.reshape(real, [-1]))
        return unique, (
            inverse if ids.shape.rank == 1 else tf.reshape(inverse, tf.shape(ids))
        ) + none
    if not tf.executing_eagerly() and distinct_rows(ids) is not None:  # found by a caller
        return flat, tf.reshape(tf.range(tf.size(ids)), tf.shape(ids))
    if num_rows is not None and compiles_with_xla() and not is_padded(ids):
        unique, inverse = static_unique(flat, num_rows)
        return unique, tf.reshape(inverse, tf.shape(ids))
    if ids.shape.num_elements() == 1:  # XLA fails to transpose or divide "at most 1" row
        return flat, tf.zeros(ids.shape, tf.int32)
    unique, inverse = tf.unique(flat)
    return unique, tf.reshape(inverse, tf.shape(ids))


def sum_by_id(
    ids: tf.Tensor, values: tf.Tensor, num_rows: tf.Tensor | int | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """Sums rows `(n, ...)` by their ids `(n,)`; returns each id once, with its sum.

    Args:
        ids: Ids `(n,)`, int32 or int64.
        values: Rows `(n, ...)`.
        num_rows: Number of rows `V` that ids choose from. Under XLA there are then as many sums as
            ids, or `V` if that is less: further ones are zeros, with an id that is out of range.
            XLA's scatter writes nothing there.

    >>> ids, sums = sum_by_id(tf.constant([5, 3, 5]), tf.constant([[1.0], [2.0], [4.0]]))
    >>> ids.numpy().tolist(), sums.numpy().tolist()
    ([5, 3], [[5.0], [2.0]])
    """
    if ids.shape.num_elements() == 1:  # XLA cannot divide "at most 1" row
        return ids, values
    if num_rows is not None and compiles_with_xla() and not is_padded(ids):
        known = distinct_rows(ids)  # the gradient of what `unique_ids` named
        return static_sums(ids, values, num_rows) if known is None else (known, values)
    if _is_distinct(ids):  # such as the gradient of what `unique_ids` named
        return ids, values
    if is_padded(ids):
        ids, real = _without_padding(ids)
        real = tf.reshape(real, [-1] + [1] * (len(values.shape) - 1))
        values = tf.where(real, values, tf.zeros([], values.dtype))
    unique, place = tf.unique(ids)
    return unique, tf.math.unsorted_segment_sum(values, place, tf.size(unique))


def _without_padding(ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Ids that XLA pads, with the largest of them as the padding, and which are real.

    XLA's `tf.unique` takes the padding for ids; running numbers tell them apart.
    """
    real = tf.ones_like(ids, tf.bool)
    for axis, size in enumerate(tf.unstack(tf.shape(ids, ids.dtype))):
        real = tf.logical_and(real, tf.cumsum(tf.ones_like(ids), axis=axis) <= size)
    return tf.where(real, ids, tf.reduce_max(ids)), real


_COPIES = ("Reshape", "Identity", "IdentityN")


def _is_distinct(ids: tf.Tensor) -> bool:
    """Whether ids in a graph are what `tf.unique` found, and not the places of those."""
    if tf.executing_eagerly():
        return False
    while ids.op.type in _COPIES:
        ids = ids.op.inputs[ids.value_index]
    return ids.op.type == "Unique" and ids.value_index == 0


def is_padded(ids: tf.Tensor) -> bool:
    """Whether XLA pads ids to a size that it knows, as it does with what `tf.unique` returns.

    That is whatever depends on a result of `tf.unique` or `tf.where` in the graph, but through
    tensors of a known shape: how many there are of these does not depend on it.
    """
    if tf.executing_eagerly():
        return False
    seen, queue = set(), [ids]
    while queue:
        tensor = queue.pop()
        op = tensor.op
        if op.name in seen or tensor.shape.is_fully_defined():
            continue
        if op.type in ("Unique", "Where"):
            return True
        seen.add(op.name)
        # The first input of a reshape is the tensor, the second its shape.
        queue += list(op.inputs)[: 1 if op.type == "Reshape" else None]
    return False


def occurrences(unique: tf.Tensor, inverse: tf.Tensor, mask_zero: bool = False) -> tf.Tensor:
    """Number of occurrences of each unique id in the batch, `(n,)` float32.

    Args:
        unique: Unique ids `(n,)` from `unique_ids`.
        inverse: Position of every token's id in `unique`.
        mask_zero: Whether id 0 is padding, which counts 0 times.

    >>> occurrences(*unique_ids(tf.constant([7, 3, 7]))).numpy().tolist()
    [2.0, 1.0]
    >>> occurrences(*unique_ids(tf.constant([7, 0, 0])), mask_zero=True).numpy().tolist()
    [1.0, 0.0]
    """
    ones = tf.ones_like(inverse, tf.float32)  # not reshaped: XLA would count what it pads
    counts = tf.math.unsorted_segment_sum(ones, inverse, tf.size(unique))
    known = None if tf.executing_eagerly() else distinct_rows(unique)
    if known is not None:  # of ids that `unique_ids` found before: its repeats count 0 times
        counts *= tf.cast(tf.equal(known, unique), tf.float32)
    return counts * tf.cast(unique != 0, tf.float32) if mask_zero else counts


def token_mean(values: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """Mean over the batch's tokens of one value per unique id; 0 if every token is padding.

    Args:
        values: Value of each unique id, `(n,)`.
        counts: Occurrences of each id, `(n,)`, from `occurrences`.

    >>> float(token_mean(tf.constant([1.0, 4.0]), tf.constant([2.0, 1.0])))
    2.0
    """
    counts = tf.cast(counts, values.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(counts * values), tf.reduce_sum(counts))


def row_numbers(unique: tf.Tensor, inverse: tf.Tensor) -> tf.Tensor:
    """The numbers `0, 1, ..., n - 1` of the unique ids, where XLA refuses `tf.range(n)`.

    XLA pads `unique`, so that `n` cannot be a shape: draw random numbers for more rows, such as one
    for each id of the batch, and gather the first `n` of them by these numbers.

    >>> row_numbers(*unique_ids(tf.constant([7, 3, 7]))).numpy().tolist()
    [0, 1]
    """
    places = tf.reshape(inverse, [-1])  # a segment maximum of equal numbers
    return tf.maximum(tf.math.unsorted_segment_max(places, places, tf.size(unique)), 0)
