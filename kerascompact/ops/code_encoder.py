"""Encoder of compositional code learning: from vectors to the logits of their codes."""

import tensorflow as tf


def hidden_units(cardinality: int, code_length: int) -> int:
    """Units of the encoder's hidden layer: `M K / 2`, at least one.

    >>> hidden_units(cardinality=8, code_length=64)
    256
    """
    return max(cardinality * code_length // 2, 1)


def code_logits(
    vectors: tf.Tensor,
    kernels: tuple[tf.Tensor, tf.Tensor],
    biases: tuple[tf.Tensor, tf.Tensor],
    cardinality: int,
) -> tf.Tensor:
    """Encodes vectors as the logits of `M` codes in `[0, K)` each.

    `a = log(softplus(tanh(x A + a') B + b') + 1e-8)`: logits that grow
    logarithmically, so that no choice of a code becomes final.

    Args:
        vectors: Vectors `x`, `(n, d)` float32.
        kernels: Kernels `A` `(d, h)` and `B` `(h, M K)`.
        biases: Biases `a'` `(h,)` and `b'` `(M K,)`.
        cardinality: Number of codes `K` of a codebook.

    Returns: `(n, M, K)` logits.

    >>> zeros = tf.zeros
    >>> code_logits(zeros((5, 3)), (zeros((3, 8)), zeros((8, 6))), (zeros(8), zeros(6)), 2).shape
    TensorShape([5, 3, 2])

    Reference: [Shu & Nakayama, ICLR 2018](https://arxiv.org/abs/1711.01068), sec. 4.
    Differs: 1e-8 inside the logarithm, as in their code, keeps it finite.
    """
    hidden = tf.tanh(tf.matmul(vectors, kernels[0]) + biases[0])
    positive = tf.nn.softplus(tf.matmul(hidden, kernels[1]) + biases[1])
    pairs = kernels[1].shape[-1]
    return tf.reshape(tf.math.log(positive + 1e-8), [-1, pairs // cardinality, cardinality])
