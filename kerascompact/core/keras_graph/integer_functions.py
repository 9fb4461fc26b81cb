"""Functions of `keras.ops` as tensors of integers, which have one scale each, can hold them."""

import functools
import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf
from keras.src.backend.tensorflow import nn as backend
from keras.src.ops import nn

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805  # of Klambauer et al., 2017
SMALL = 1e-6  # an epsilon that counts for nothing beside what 8 bits can hold


def integer_functions() -> dict[tuple[Any, str], Callable[..., Any]]:
    """The function for tensors of integers in place of each module's attribute.

    - Keras divides a vector by the root of a mean of squares. If one vector is 10 times as long as
      another, their squares differ by 100, and integers of one scale leave two steps for the
      smaller one. The runtime has an operator that divides by a length without such a tensor.
    - What is `exp(x)` below 0 has no exponential of a positive number, beside which all others
      would be zero. So has `softplus`, in every file, by `extreme_numbers`.
    """
    return {
        (nn, "_layer_normalization"): _where(_layer_norm, nn._layer_normalization),
        (nn, "_rms_normalization"): _where(_rms_norm, nn._rms_normalization),
        (nn, "_normalize"): _where(_normalized, nn._normalize),
        (backend, "selu"): selu,
    }


def _where(function: Callable[..., Any], own: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is Keras' own for other axes than the last one, where it gives `None`."""

    @functools.wraps(own)
    def either(x: Any, *args: Any, **kwargs: Any) -> Any:
        found = function(keras.ops.cast(x, "float32"), *args, **kwargs)
        return own(x, *args, **kwargs) if found is None else keras.ops.cast(found, x.dtype)

    return either


def _is_last(axis: Any, x: Any) -> bool:
    axes = [axis] if isinstance(axis, int) else axis
    return len(x.shape) > 1 and [n % len(x.shape) for n in axes] == [len(x.shape) - 1]


def _layer_norm(
    x: Any,
    gamma: Any = None,
    beta: Any = None,
    axis: Any = -1,
    epsilon: float | None = None,
    rms_scaling: bool = False,
) -> Any:
    if rms_scaling or not _is_last(axis, x):
        return None
    mean = keras.ops.mean(x, axis=-1, keepdims=True)
    factor = over_rms(x - mean, epsilon)
    factor = factor if gamma is None else factor * keras.ops.cast(gamma, x.dtype)
    beta = 0.0 if beta is None else keras.ops.cast(beta, x.dtype)
    return x * factor + (beta - mean * factor)  # as Keras has it: two roundings


def _rms_norm(x: Any, scale: Any = None, axis: Any = -1, epsilon: float | None = None) -> Any:
    if not _is_last(axis, x):
        return None
    factor = over_rms(x, epsilon)
    return x * (factor if scale is None else factor * keras.ops.cast(scale, x.dtype))


def _normalized(x: Any, axis: Any = -1, order: Any = 2, epsilon: float | None = None) -> Any:
    epsilon = keras.config.epsilon() if epsilon is None else epsilon
    return _unit(x) if order == 2 and epsilon <= SMALL and _is_last(axis, x) else None


def over_rms(x: Any, epsilon: float | None = None) -> Any:
    """`1 / sqrt(mean(x^2) + epsilon)` over the last axis, from the length of a vector.

    The length is `x . (x / |x|)`, and `epsilon` one more number of the vector,
    `sqrt(width epsilon)`.

    >>> x = keras.ops.array([[3.0, 4.0]])
    >>> round(float(over_rms(x, 12.5)[0, 0]), 3)  # of 12.5 + 12.5
    0.2
    """
    epsilon = keras.config.epsilon() if epsilon is None else epsilon
    more = keras.ops.full_like(x[..., :1], math.sqrt(x.shape[-1] * epsilon))
    whole = keras.ops.concatenate([x, more], axis=-1)
    length = keras.ops.sum(whole * _unit(whole), axis=-1, keepdims=True)
    root = keras.ops.rsqrt(length)
    return root * root * math.sqrt(x.shape[-1])


def _unit(x: Any) -> Any:
    """`x / |x|`, and 0 for 0; the converter knows TensorFlow's as `L2_NORMALIZATION`."""
    return tf.math.l2_normalize(x, axis=-1, epsilon=1e-30)


def selu(x: Any) -> Any:
    """`scale x` above 0, `scale alpha (exp(x) - 1)` below.

    >>> [round(float(y), 3) for y in selu(keras.ops.array([-1.0, 2.0]))]
    [-1.111, 2.101]
    """
    return SELU_SCALE * (tf.nn.relu(x) + SELU_ALPHA * (tf.exp(tf.minimum(x, 0)) - 1))
