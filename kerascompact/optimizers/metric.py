"""Metric of a proximal step: what an adaptive optimizer divides its steps by."""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from kerascompact.core.keras_graph import slots


def divisors(optimizer: Any, index: int) -> tf.Tensor:
    """Divisors of the step of each entry, from the second moments of the optimizer.

    Args:
        optimizer: Optimizer with slots of entire tables, or of rows from `at_rows`.
        index: Index of the variable in the optimizer.

    Returns: Positive numbers, of the shape of the slots.
    """
    return _rule_of(optimizer)(optimizer, index)


def rate_factor(optimizer: Any) -> tf.Tensor | float:
    """Factor of the learning rate of this step, before the division by `divisors`.

    Adam's `eta / (sqrt(v_hat) + eps)`, with `v_hat = v / (1 - beta_2^t)`, is
    `eta sqrt(1 - beta_2^t) / (sqrt(v) + eps)`, its epsilon read as in Keras. In this form a row
    outside of the batch keeps its divisors, and only the factor depends on the step.
    """
    if not isinstance(optimizer, keras.optimizers.Adam | keras.optimizers.Nadam):
        return 1.0
    if optimizer.beta_2 <= 0:
        return 1.0
    step = tf.cast(optimizer.iterations + 1, tf.float32)
    return tf.sqrt(-tf.math.expm1(step * math.log(optimizer.beta_2)))  # float32 would cancel


def has_metric(optimizer: Any) -> bool:
    """Whether the optimizer keeps second moments.

    >>> has_metric(keras.optimizers.RMSprop()), has_metric(keras.optimizers.SGD())
    (True, False)
    """
    return any(isinstance(optimizer, kind) for kind in _RULES)


def _rule_of(optimizer: Any) -> Callable[[Any, int], tf.Tensor]:
    return next(rule for kind, rule in _RULES.items() if isinstance(optimizer, kind))


def _adam(optimizer: Any, index: int) -> tf.Tensor:
    moments = slots(optimizer, "velocity_hats" if optimizer.amsgrad else "velocities")
    return tf.sqrt(tf.convert_to_tensor(moments[index])) + optimizer.epsilon


def _nadam(optimizer: Any, index: int) -> tf.Tensor:
    return tf.sqrt(tf.convert_to_tensor(slots(optimizer, "velocities")[index])) + optimizer.epsilon


def _adamax(optimizer: Any, index: int) -> tf.Tensor:
    return slots(optimizer, "largest")[index] + optimizer.epsilon


def _adagrad(optimizer: Any, index: int) -> tf.Tensor:
    return tf.sqrt(slots(optimizer, "accumulators")[index] + optimizer.epsilon)


def _rmsprop(optimizer: Any, index: int) -> tf.Tensor:
    moment = tf.convert_to_tensor(slots(optimizer, "velocities")[index])
    if optimizer.centered:
        moment -= tf.square(tf.convert_to_tensor(slots(optimizer, "average_gradients")[index]))
    return tf.sqrt(moment + optimizer.epsilon)


def _adadelta(optimizer: Any, index: int) -> tf.Tensor:
    moved = tf.sqrt(slots(optimizer, "accumulated_steps")[index] + optimizer.epsilon)
    return tf.sqrt(slots(optimizer, "accumulated_grads")[index] + optimizer.epsilon) / moved


_RULES: dict[type, Callable[[Any, int], tf.Tensor]] = {
    keras.optimizers.Adam: _adam,  # AdamW is one
    keras.optimizers.Nadam: _nadam,
    keras.optimizers.Adamax: _adamax,
    keras.optimizers.Adagrad: _adagrad,
    keras.optimizers.RMSprop: _rmsprop,
    keras.optimizers.Adadelta: _adadelta,
}
