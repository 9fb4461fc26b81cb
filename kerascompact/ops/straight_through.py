"""Straight-through estimator: the value of one tensor, the gradient of another."""

import tensorflow as tf


def straight_through_estimate(value: tf.Tensor, relaxed: tf.Tensor) -> tf.Tensor:
    """Forward `value` exactly; backward the gradient of `relaxed`.

    It adds `relaxed - relaxed`, which is 0. Where `relaxed` is NaN or infinite the result is NaN,
    so that a diverged training is visible.

    Args:
        value: Forward value, such as a one-hot vector; it gets no gradient.
        relaxed: Tensor of the same shape that gets the gradient, such as a softmax.

    >>> x = tf.Variable([0.3, 0.7])
    >>> with tf.GradientTape() as tape:
    ...     loss = tf.reduce_sum(straight_through_estimate(tf.round(x), 2.0 * x))
    >>> float(loss), tape.gradient(loss, x).numpy().tolist()
    (1.0, [2.0, 2.0])

    Reference: [Bengio et al., 2013](https://arxiv.org/abs/1308.3432), sec. 4.
    """
    return tf.stop_gradient(value) + (relaxed - tf.stop_gradient(relaxed))
