"""Logits from every row of a table that is computed, never stored."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf


def row_logits(
    hidden: tf.Tensor,
    rows: Callable[[tf.Tensor, Sequence[tf.Tensor]], tf.Tensor],
    count: int,
    weights: Sequence[tf.Tensor] = (),
    chunk: int = 2048,
) -> tf.Tensor:
    """Multiplies vectors with all rows of a table that is computed, `chunk` rows at a time.

    `x_v = h . E[v]` for all `v` in `[0, V)`. The backward pass computes the rows again, chunk by
    chunk, instead of keeping them: beside the result and the gradients, memory is that of one
    chunk. The gradients are those of `h @ E^T`.

    Args:
        hidden: Vectors `h` `(n, d)` float32.
        rows: Function from int32 ids `(m,)` and weights to `E[ids]` `(m, d)` float32. It must be
            deterministic and assign no variable, since it is called twice.
        count: Number of rows `V`.
        weights: Tensors that get a gradient, as passed to `rows`.
        chunk: Number of rows at a time.

    Returns: `(n, V)` float32.

    >>> table = tf.reshape(tf.range(8.0), (4, 2))
    >>> look_up = lambda ids, weights: tf.gather(weights[0], ids)
    >>> row_logits(tf.constant([[1.0, 0.0]]), look_up, 4, [table], chunk=3).numpy().tolist()
    [[0.0, 2.0, 4.0, 6.0]]
    """
    parts = -(-count // chunk)
    size = -(-count // parts)

    def ids_of(part: tf.Tensor) -> tf.Tensor:
        # The last part repeats the last row to fill its places.
        return tf.minimum(part * size + tf.range(size), count - 1)

    @tf.custom_gradient
    def logits(hidden: tf.Tensor, *weights: tf.Tensor) -> Any:
        def forward(part: tf.Tensor, found: tf.TensorArray) -> Any:
            vectors = rows(ids_of(part), weights)
            return part + 1, found.write(part, tf.matmul(hidden, vectors, transpose_b=True))

        found = tf.TensorArray(tf.float32, parts, element_shape=[hidden.shape[0], size])
        found = _for_each(parts, forward, found)[0].stack()
        found = tf.reshape(tf.transpose(found, [1, 0, 2]), [-1, parts * size])
        return found[:, :count], lambda upstream: backward(upstream, hidden, weights)

    def backward(upstream: tf.Tensor, hidden: tf.Tensor, weights: Any) -> Any:
        upstream = tf.pad(upstream, [[0, 0], [0, parts * size - count]])
        upstream = tf.reshape(upstream, [-1, parts, size])

        def step(part: tf.Tensor, for_hidden: tf.Tensor, *for_weights: tf.Tensor) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(weights)
                vectors = rows(ids_of(part), weights)
            here = tf.gather(upstream, part, axis=1)
            found = tape.gradient(vectors, weights, tf.matmul(here, hidden, transpose_a=True))
            sums = map(_add, for_weights, found)
            return part + 1, for_hidden + tf.matmul(here, vectors), *sums

        return _for_each(parts, step, *map(tf.zeros_like, (hidden, *weights)))

    return logits(hidden, *weights)


def product_logits(hidden: tf.Tensor, inner: tf.Tensor, outer: tf.Tensor) -> tf.Tensor:
    """Multiplies vectors with all rows of `outer inner`, in the cheaper order.

    `outer (inner h)` takes `n k (d + V)`, as for one token on a phone; `(outer inner) h` takes
    `V d (k + n)`, fewer for the many tokens of a training step if `k` is above `d`, and `V d`
    numbers, which are then less than `outer` itself. Gradients cost the same again twice.

    Args:
        hidden: Vectors `h` `(n, d)`.
        inner: Inner factor, `(k, d)`.
        outer: Outer factor, `(V, k)`.

    Returns: `(n, V)`.

    >>> product_logits(tf.ones((3, 2)), tf.ones((4, 2)), tf.ones((5, 4)))[0].numpy().tolist()
    [8.0, 8.0, 8.0, 8.0, 8.0]
    """
    (rows, between), width, count = outer.shape, inner.shape[1], hidden.shape[0]
    if count is not None and rows * width * (between + count) < count * between * (width + rows):
        return tf.matmul(hidden, tf.matmul(outer, inner), transpose_b=True)
    return tf.matmul(tf.matmul(hidden, inner, transpose_b=True), outer, transpose_b=True)


def _for_each(parts: int, step: Callable[..., Any], *start: Any) -> Any:
    """Applies `step` to `start` for each part in turn."""
    if parts == 1:
        return step(tf.constant(0), *start)[1:]
    # One part at a time; in parallel they would need the memory that chunks save.
    condition = lambda part, *_: part < parts  # noqa: E731
    return tf.while_loop(condition, step, (tf.constant(0), *start), parallel_iterations=1)[1:]


def _add(total: tf.Tensor, more: tf.Tensor | tf.IndexedSlices | None) -> tf.Tensor:
    if more is None:  # no row depends on this weight
        return total
    if isinstance(more, tf.IndexedSlices):  # into the rows alone, not the whole table each time
        return tf.tensor_scatter_nd_add(total, more.indices[:, None], more.values)
    return total + more
