"""Loss of skip-gram with negative sampling."""

import tensorflow as tf


def negative_sampling_loss(positive: tf.Tensor, negative: tf.Tensor) -> tf.Tensor:
    """`-J` of each pair, from its logits.

    `-log sigma(x_c) - sum_i log sigma(-x_i)`, `x = v'(w)^T v(w_t)` of the context `c` and of `k`
    words of noise.

    Args:
        positive: Logits `(n,)` of the contexts.
        negative: Logits `(n, k)` of noise.

    Returns: `(n,)`.

    >>> loss = negative_sampling_loss(tf.zeros(1), tf.zeros((1, 3)))  # four fair coins
    >>> tf.exp(-loss).numpy().round(4).tolist()
    [0.0625]

    Reference: [Sankar et al., NAACL 2019](https://arxiv.org/abs/1906.01605), eq. 1 and 4;
    [Mikolov et al., NeurIPS 2013](https://arxiv.org/abs/1310.4546), eq. 4.
    """
    return tf.nn.softplus(-positive) + tf.reduce_sum(tf.nn.softplus(negative), axis=-1)


def shared_noise_loss(negative: tf.Tensor, times: tf.Tensor, k: float) -> tf.Tensor:
    """Noise term of `-J`, summed over all pairs of a batch that share their noise.

    `k / S sum_u n_u sum_s -log sigma(-x_us)`: each of the `S` noise words is paired once with each
    *distinct* word `u`, in place of the `n_u k` draws of its `n_u` pairs. The expectation is that
    of separate noise, for any `S`; the variance falls with `S`.

    Args:
        negative: Logits `(u, S)`.
        times: Number of pairs `n_u` of each word, `(u,)`.
        k: Number of noise words per pair.

    Returns: A scalar.

    >>> loss = shared_noise_loss(tf.zeros((2, 8)), tf.constant([3.0, 1.0]), 25)
    >>> round(float(loss) / (4 * 25), 4)  # as many fair coins
    0.6931

    Reference: [Ji et al., 2016](https://arxiv.org/abs/1604.04661), sec. 3, who share noise to
    compute one product of matrices. Differs: `S` is not `k`.
    """
    of_word = tf.reduce_mean(tf.nn.softplus(negative), axis=-1)
    return k * tf.reduce_sum(times * of_word)


def draw_noise(cumulative: tf.Tensor, bits: tf.Tensor) -> tf.Tensor:
    """Draws ids from a distribution given by its cumulative sums.

    Args:
        cumulative: Cumulative sums, `(V,)` int32, `round(2^31 sum_{v <= i} p(v)) - 1`, see
            `cumulative_noise`.
        bits: 32 random bits for each draw, uint32, any shape.

    Returns: int32 ids, of the shape of `bits`.

    >>> cumulative = tf.constant([-1, 2**30 - 1, 2**31 - 1])  # never 0, 1 and 2 alike
    >>> draw_noise(cumulative, tf.constant([0, 2**31 - 2, 2**31, 2**32 - 1], tf.uint32)).numpy()
    array([1, 1, 2, 2], dtype=int32)
    """
    flat = tf.reshape(bits, [-1])
    drawn = tf.cast(tf.bitwise.right_shift(flat, tf.constant(1, tf.uint32)), tf.int32)
    return tf.reshape(tf.searchsorted(cumulative, drawn), tf.shape(bits))
