"""Which strategies of `tf.distribute` and which settings lazy optimizers work with."""

from typing import Any

import keras
import tensorflow as tf

INSTEAD = (
    "Use `tf.distribute.MirroredStrategy` for the devices of one machine, "
    "`kerascompact.training.MultiWorkerStrategy` for several machines, or a single device."
)


def check_strategy() -> None:
    """Raises ValueError where Keras would fail, or silently train on one device.

    >>> check_strategy()
    """
    strategy = tf.distribute.get_strategy()
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        raise ValueError(
            "Keras 3 does not train under `tf.distribute.ParameterServerStrategy`: `fit` cannot "
            f"read its datasets. {INSTEAD}"
        )
    if isinstance(strategy, tf.distribute.TPUStrategy):
        raise ValueError(
            "Optimizers that update rows have not been tried under `tf.distribute.TPUStrategy`. "
            f"{INSTEAD}"
        )
    if keras.distribution.distribution() is not None:
        raise ValueError(
            "A distribution of `keras.distribution` does nothing on the TensorFlow backend: each "
            f"step would run on one device. Unset it: `keras.distribution.set_distribution(None)`. "
            f"{INSTEAD}"
        )


def check_bfloat16_strategy(name: str) -> None:
    """Raises ValueError where TensorFlow cannot send a bfloat16 variable to other machines.

    Args:
        name: Name of the argument with which a layer asks for bfloat16.

    >>> check_bfloat16_strategy("logits_dtype")
    """
    strategy = tf.distribute.get_strategy()
    several = isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)
    if several and strategy.num_replicas_in_sync > 1:
        raise ValueError(
            f"`{name}` must be 'float32' on several machines, to which TensorFlow cannot send the "
            f"start of a bfloat16 variable. Received: {name}='bfloat16'."
        )


def check_replicated(optimizer: Any) -> None:
    """Raises ValueError for settings with which Keras cannot train on several replicas.

    Args:
        optimizer: A Keras optimizer.

    >>> check_replicated(keras.optimizers.SGD())
    """
    if optimizer.gradient_accumulation_steps:
        raise ValueError(
            "`gradient_accumulation_steps` must be None on several replicas, where Keras cannot "
            "accumulate gradients: use a larger batch or more replicas. "
            f"Received: gradient_accumulation_steps={optimizer.gradient_accumulation_steps}."
        )
    if optimizer.use_ema and optimizer.ema_overwrite_frequency:
        raise ValueError(
            "`ema_overwrite_frequency` must be None on several replicas, where Keras cannot "
            "overwrite weights during training: the end of `fit` and "
            "`keras.callbacks.SwapEMAWeights` do. "
            f"Received: ema_overwrite_frequency={optimizer.ema_overwrite_frequency}."
        )
