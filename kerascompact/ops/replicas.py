"""Replicas of `tf.distribute` among which a step is divided, seen from one of them."""

import contextlib

import tensorflow as tf

from kerascompact.core.keras_graph import keeping_losses


def replicas() -> int:
    """Number of replicas among which a step is divided, if one of them asks; else 1.

    >>> replicas()
    1
    """
    context = tf.distribute.get_replica_context()
    return 1 if context is None else context.num_replicas_in_sync


def taking_turns() -> contextlib.AbstractContextManager[None]:
    """Context for what waits for the other replicas inside a call of a layer.

    Such as to gather, or to assign to a variable that has an aggregation. The losses that layers
    have added for this replica are there afterwards, not those of another.

    >>> with taking_turns():
    ...     gathered(tf.constant([3, 5])).shape
    TensorShape([2])
    """
    return contextlib.nullcontext() if replicas() == 1 else keeping_losses()


def gathered(values: tf.Tensor) -> tf.Tensor:
    """The values `(n, ...)` of all replicas, one below the other; `n` may differ.

    >>> gathered(tf.constant([3, 5])).numpy().tolist()  # one replica
    [3, 5]
    """
    if replicas() == 1:
        return values
    with taking_turns():
        return tf.distribute.get_replica_context().all_gather(values, axis=0)
