"""Relaxed one-hot codes for straight-through training."""

import tensorflow as tf

from kerascompact.ops.straight_through import straight_through_estimate
from kerascompact.ops.unique import token_mean


def relaxed_one_hot(
    logits: tf.Tensor, temperature: tf.Tensor | float, straight_through: bool = True
) -> tuple[tf.Tensor, tf.Tensor]:
    """Turns code logits into one-hot codes with the gradient of a soft choice.

    `o^ = softmax(pi / tau)`, `o = one_hot(argmax o^)`: forward `o`, backward `o^`. Nothing is
    drawn at random, unlike `gumbel_softmax`.

    Args:
        logits: Logits `pi`, `(..., K)`.
        temperature: Temperature `tau > 0`.
        straight_through: Whether the forward value is one-hot; `False`: it is `o^`.

    Returns: Codes `o` and probabilities `o^`, both `(..., K)` float32.

    >>> codes, _ = relaxed_one_hot(tf.constant([[0.1, 0.3, 0.2]]), 1.0)
    >>> codes.numpy().tolist()
    [[0.0, 1.0, 0.0]]

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), algorithm 1.
    """
    soft = tf.nn.softmax(tf.cast(logits, tf.float32) / temperature)
    if not straight_through:
        return soft, soft
    hard = tf.one_hot(tf.argmax(logits, axis=-1), logits.shape[-1], dtype=tf.float32)
    return straight_through_estimate(hard, soft), soft


def code_entropy(soft: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Mean entropy of relaxed codes, in nats for each code position.

    `H = -sum_i w_i / sum(w) mean_j sum_k o^_ijk log o^_ijk`.

    Args:
        soft: Probabilities, `(n, D, K)`.
        weights: Weight of each row, `(n,)`, such as the occurrences of an id in the batch. If all
            are 0, so is the result.

    >>> round(float(code_entropy(tf.fill((1, 2, 4), 0.25), tf.ones(1))), 4)  # log 4
    1.3863

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 3.1. Differs: a
    mean over ids and positions instead of a sum, so that its weight does not depend on the batch.
    """
    # xlogy is 0 where a probability underflows to 0, and so is its gradient in `soft`.
    entropy = -tf.reduce_mean(tf.reduce_sum(tf.math.xlogy(soft, soft), axis=-1), axis=-1)
    return token_mean(entropy, weights)
