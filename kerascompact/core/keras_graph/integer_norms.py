"""Keras' normalization of vectors as tensors of integers can hold it."""

import math
from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

LAYER, RMS = keras.layers.LayerNormalization, keras.layers.RMSNormalization
UNIT = keras.layers.UnitNormalization


def integer_norms() -> dict[type[keras.layers.Layer], Callable[..., Any]]:
    """`call` of each layer that divides a vector by its length, for tensors of integers.

    Keras divides by the root of a mean of squares. If one vector is 10 times as long as another,
    their squares differ by 100, and integers of one scale leave two steps for the smaller one. The
    runtime has an operator that divides by a length without such a tensor, `L2_NORMALIZATION`.
    """
    calls = {LAYER: LAYER.call, RMS: RMS.call, UNIT: UNIT.call}

    def layer(self: Any, inputs: Any) -> Any:
        if self.rms_scaling or not _is_last(self.axis, inputs):
            return calls[LAYER](self, inputs)
        x = keras.ops.cast(inputs, "float32")
        found = over_rms(x - keras.ops.mean(x, axis=-1, keepdims=True), self.epsilon)
        if self.gamma is not None:
            found = found * keras.ops.cast(self.gamma, found.dtype)
        if self.beta is not None:
            found = found + keras.ops.cast(self.beta, found.dtype)
        return keras.ops.cast(found, self.compute_dtype)

    def rms(self: Any, x: Any) -> Any:
        if not _is_last(self.axis, x):
            return calls[RMS](self, x)
        epsilon = keras.config.epsilon() if self.epsilon is None else self.epsilon
        found = over_rms(keras.ops.cast(x, "float32"), epsilon)
        return keras.ops.cast(found * keras.ops.cast(self.scale, found.dtype), x.dtype)

    def unit(self: Any, inputs: Any) -> Any:
        if not _is_last(self.axis, inputs):
            return calls[UNIT](self, inputs)
        found = over_rms(keras.ops.cast(inputs, "float32"), 0.0)
        return keras.ops.cast(found / math.sqrt(inputs.shape[-1]), inputs.dtype)

    return {LAYER: layer, RMS: rms, UNIT: unit}


def _is_last(axis: Any, x: Any) -> bool:
    axes = [axis] if isinstance(axis, int) else axis
    return [one % len(x.shape) for one in axes] == [len(x.shape) - 1]


def over_rms(x: Any, epsilon: float) -> Any:
    """`x / sqrt(mean(x^2) + epsilon)` over the last axis, by lengths of vectors alone.

    What the operator gives has steps of 1/128, too large for the numbers of a long vector of length
    1. So the vector is cut into `k` parts, about the root of its width: each number is divided by
    the length of its part, and the length of the part by that of all lengths. `epsilon` is as one
    more of them, `sqrt(width epsilon)`.

    >>> x = keras.ops.array([[3.0, 4.0]])
    >>> over_rms(x, 0.5).numpy().round(3).tolist()  # divided by the root of 12.5 + 0.5
    [[0.832, 1.109]]
    """
    width = x.shape[-1]
    k = next(k for k in range(math.isqrt(width), 0, -1) if width % k == 0)
    parts = keras.ops.reshape(x, (-1, k, width // k))
    directions = _unit(parts)
    lengths = keras.ops.sum(parts * directions, axis=-1)
    if epsilon:
        more = keras.ops.full_like(lengths[:, :1], math.sqrt(width * epsilon))
        lengths = keras.ops.concatenate([lengths, more], axis=-1)
    found = directions * _unit(lengths)[:, :k, None]
    open_sizes = sum(size is None for size in x.shape)
    shape = keras.ops.shape(x) if open_sizes > 1 else [-1 if n is None else n for n in x.shape]
    return keras.ops.reshape(found, shape) * math.sqrt(width)


def _unit(x: Any) -> Any:
    """`x / |x|`, and 0 for 0; the converter knows TensorFlow's as `L2_NORMALIZATION`."""
    return tf.math.l2_normalize(x, axis=-1, epsilon=1e-30)
