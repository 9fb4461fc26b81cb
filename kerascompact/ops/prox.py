"""Proximal operators of penalties.

`prox_t(x) = argmin_z t * penalty(z) + ||z - x||^2 / 2`. Thresholds add up: the operator at `s`
after the one at `t` is the operator at `s + t`, so that many small steps can be made as one.
"""

import tensorflow as tf

TINY = 1.2e-38  # the smallest normal float32: a row of zeros is divided by it


def soft_threshold(x: tf.Tensor, t: tf.Tensor | float) -> tf.Tensor:
    """`sign(x) * max(|x| - t, 0)`, the prox of `t * |x|`: entries within `t` of 0 become 0.

    Args:
        x: Numbers, of any shape.
        t: Thresholds `>= 0` that broadcast against `x`; 0 changes nothing.

    >>> soft_threshold(tf.constant([-3.0, 0.5, 2.0]), 1.0).numpy().tolist()
    [-2.0, 0.0, 1.0]

    Reference: [Beck & Teboulle, SIAM Imaging 2009](https://doi.org/10.1137/080716542), eq. 1.5.
    """
    return tf.maximum(x - t, 0) + tf.minimum(x + t, 0)


def nonnegative_soft_threshold(x: tf.Tensor, t: tf.Tensor | float) -> tf.Tensor:
    """`max(x - t, 0)`, the prox of `t * |x|` over `x >= 0`: ReLU after `soft_threshold`.

    Args:
        x: Numbers, of any shape.
        t: Thresholds `>= 0` that broadcast against `x`; 0 leaves non-negative entries as they are.

    >>> nonnegative_soft_threshold(tf.constant([-3.0, 0.5, 2.0]), 1.0).numpy().tolist()
    [0.0, 0.0, 1.0]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), algorithm 1, line 10.
    """
    return tf.maximum(x - t, 0)


def group_soft_threshold(rows: tf.Tensor, t: tf.Tensor | float) -> tf.Tensor:
    """`row * max(1 - t / ||row||, 0)`, the prox of `t * ||row||`: short rows become 0.

    Args:
        rows: Groups, the rows of `(..., d)`.
        t: Thresholds `>= 0`, a number or `(..., 1)`; 0 changes nothing.

    >>> group_soft_threshold(tf.constant([[6.0, 8.0], [0.3, 0.4]]), 5.0).numpy().tolist()
    [[3.0, 4.0], [0.0, 0.0]]

    Reference: [Yuan & Lin, JRSS-B 2006](https://doi.org/10.1111/j.1467-9868.2005.00532.x), eq. 2.4.
    """
    norms = tf.sqrt(tf.reduce_sum(tf.square(rows), axis=-1, keepdims=True))
    return rows * tf.maximum(1 - t / tf.maximum(norms, TINY), 0)
