"""Softmax over all words whose gradient touches few rows of the table."""

from typing import Any

import tensorflow as tf

from kerascompact.ops.prox import soft_threshold


def sparse_gradient_product(hidden: tf.Tensor, table: tf.Tensor, threshold: float) -> tf.Tensor:
    """`hidden @ table^T`, whose gradient on the table is that of the largest logits only.

    The gradient `g` of a softmax is its probabilities minus the label: large for a few words, tiny
    for the rest. Backward, each row of `g` is soft-thresholded by `threshold` times its
    largest absolute value, and the product with `hidden` is computed for the words that remain. So
    the `(V, r)` gradient becomes rows (`tf.IndexedSlices`, each word once), and so does the step of
    an optimizer. The gradient on `hidden` stays exact.

    Args:
        hidden: Hidden vectors, `(n, r)` float32.
        table: Vectors of all words, `(V, r)` float32.
        threshold: Share of the largest entry of a row of `g`, in `[0, 1)`. 0 keeps all that is
            not 0.

    Returns: `(n, V)` float32.

    >>> table = tf.Variable(tf.eye(3))
    >>> with tf.GradientTape() as tape:
    ...     logits = sparse_gradient_product(tf.constant([[1.0, 2.0, 3.0]]), table, 0.5)
    ...     loss = tf.reduce_sum(logits * [[1.0, 0.25, 0.0]])
    >>> gradient = tape.gradient(loss, table)
    >>> gradient.indices.numpy().tolist(), gradient.values.numpy().tolist()
    ([0], [[0.5, 1.0, 1.5]])

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), app. C, eq. 11.
    Differs: the threshold is relative, so that it means the same for a sum and a mean over tokens
    and under a scaled loss; the paper gives none.
    """

    @tf.custom_gradient
    def product(hidden: tf.Tensor, table: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tuple[tf.Tensor, tf.IndexedSlices]:
            largest = tf.reduce_max(tf.abs(upstream), axis=1, keepdims=True)
            left = soft_threshold(upstream, threshold * largest)
            words = tf.where(tf.reduce_any(left != 0, axis=0))[:, 0]
            rows = tf.matmul(tf.gather(left, words, axis=1), hidden, transpose_a=True)
            slices = tf.IndexedSlices(rows, words, tf.shape(table, tf.int64))
            return tf.matmul(upstream, table), slices

        return tf.matmul(hidden, table, transpose_b=True), gradient

    return product(hidden, table)
