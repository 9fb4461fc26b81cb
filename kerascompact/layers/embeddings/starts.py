"""Start of an embedding from a given table: checks, and initializers with fixed values."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks

SHARE = 0.9  # of samples, or of a softmax, that the code found for a word starts with


def table_of(weights: Any, input_dim: int, output_dim: int) -> np.ndarray:
    """The table `(V, d)` float32 that `weights=` gives, as an array or a list of one, as in Keras.

    Raises: ValueError, if it has another shape, or is not finite.

    >>> table_of([np.eye(3)], 3, 3).dtype
    dtype('float32')
    """
    if isinstance(weights, list | tuple) and len(weights) == 1 and np.ndim(weights[0]) == 2:
        (weights,) = weights
    try:
        with np.errstate(over="ignore"):  # what is beyond float32 is named as infinite
            table = np.asarray(weights, np.float32)
    except (TypeError, ValueError):
        checks.fail("weights", f"numbers of shape {(input_dim, output_dim)}", weights)
    if table.shape != (input_dim, output_dim):
        raise ValueError(
            f"`weights` must be a table of shape {(input_dim, output_dim)}, a vector for each id. "
            f"Received: an array of shape {table.shape}."
        )
    return checks.finite("weights", table)


def given(values: np.ndarray) -> Callable[..., tf.Tensor]:
    """An initializer that gives these values.

    Weights are made with it, not assigned afterwards: a model that its first batch builds would
    lose what is assigned.

    >>> given(np.ones(2))((2,), dtype="float32").numpy().tolist()
    [1.0, 1.0]
    """
    return lambda shape, dtype=None: tf.reshape(tf.constant(values, dtype), shape)


def logits_for(codes: np.ndarray, cardinality: int) -> np.ndarray:
    """Logits `(..., K)` under which a softmax gives each code a share of 0.9, all others alike.

    A sample is then the code nine times of ten, and the gradient, which is largest at a share of
    one half, is a third of that: the codes are kept at first, and can still be changed.

    >>> shares = np.exp(logits_for(np.array([[1]]), 10)[0, 0].astype(np.float64))
    >>> (shares / shares.sum()).round(3).tolist()[:3]
    [0.011, 0.9, 0.011]
    """
    logits = np.zeros((*codes.shape, cardinality), np.float32)
    lead = math.log(SHARE / (1 - SHARE) * (cardinality - 1))
    np.put_along_axis(logits, codes[..., None].astype(np.int64), lead, axis=-1)
    return logits
