"""Straight-through estimator: the value of one tensor, the gradient of another."""

import tensorflow as tf


def straight_through_estimate(value: tf.Tensor, relaxed: tf.Tensor) -> tf.Tensor:
    """Forward `value`, to the last bit; backward the gradient of `relaxed`.

    What is added to `value` is `relaxed - relaxed`, which is 0. Where `relaxed` is NaN or infinite
    the result is NaN, so that a training that has diverged shows it.

    Args:
        value: What the forward pass gives, such as a one-hot vector. Gets no gradient.
        relaxed: What the gradient goes to, of the same shape, such as a softmax.

    >>> x = tf.Variable([0.3, 0.7])
    >>> with tf.GradientTape() as tape:
    ...     loss = tf.reduce_sum(straight_through_estimate(tf.round(x), 2.0 * x))
    >>> float(loss), tape.gradient(loss, x).numpy().tolist()
    (1.0, [2.0, 2.0])

    Reference: [Bengio et al., 2013](https://arxiv.org/abs/1308.3432), sec. 4.
    """
    return tf.stop_gradient(value) + (relaxed - tf.stop_gradient(relaxed))
