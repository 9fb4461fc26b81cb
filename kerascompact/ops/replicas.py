"""Replicas of `tf.distribute` among which a step is divided, seen from one of them."""

import tensorflow as tf


def replicas() -> int:
    """Number of replicas among which a step is divided, if one of them asks; else 1.

    >>> replicas()
    1
    """
    context = tf.distribute.get_replica_context()
    return 1 if context is None else context.num_replicas_in_sync


def gathered(values: tf.Tensor) -> tf.Tensor:
    """The values `(n, ...)` of all replicas, one below the other; `n` may differ.

    >>> gathered(tf.constant([3, 5])).numpy().tolist()  # one replica
    [3, 5]
    """
    if replicas() == 1:
        return values
    return tf.distribute.get_replica_context().all_gather(values, axis=0)
