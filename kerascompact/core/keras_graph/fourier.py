"""Fourier transforms as products with matrices, while a model is traced for a TFLite file."""

import contextlib
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow import math as backend

from kerascompact.core import checks
from kerascompact.core.keras_graph.replacing import replaced


def fourier_by_matrices() -> contextlib.AbstractContextManager[None]:
    """Context in which `keras.ops.fft` and `fft2` multiply with matrices of cosines and sines.

    `F = (R + i I)(C - i S)` along each axis, with `C[j, k] = cos(2 pi j k / n)` and `S` the same
    with sines. TFLite has no complex Fourier transform, and its real one only for powers of two.
    The matrices are constants of the file, `64 n^2` bits for an axis of size `n`.

    Raises: ValueError, if an axis has an open size.

    >>> x = np.arange(6.0, dtype="float32").reshape(2, 3)
    >>> expected = np.fft.fft2(x)
    >>> with fourier_by_matrices():
    ...     real, imaginary = keras.ops.fft2((x, 0 * x))
    >>> found = np.asarray(real) + 1j * np.asarray(imaginary)
    >>> bool(np.abs(found - expected).max() < 1e-5)
    True
    """

    def fft(x: Any) -> Any:
        return _along(tuple(map(keras.ops.convert_to_tensor, x)), -1)

    return replaced({(backend, "fft"): fft, (backend, "fft2"): lambda x: _along(fft(x), -2)})


def _along(x: tuple[Any, Any], axis: int) -> tuple[Any, Any]:
    real, imaginary = x
    size = real.shape[axis]
    if size is None:
        expected = "the length of a model with a Fourier transform, which the model leaves open"
        checks.fail("sequence_length", expected, None)
    turns = np.outer(np.arange(size), np.arange(size)) % size * (2 * np.pi / size)
    cosines, sines = (f(turns).astype(real.dtype.as_numpy_dtype) for f in (np.cos, np.sin))

    def times(numbers: Any, matrix: np.ndarray) -> Any:
        return tf.matmul(numbers, matrix) if axis == -1 else tf.matmul(matrix, numbers)

    if _is_zero(imaginary):
        return times(real, cosines), -times(real, sines)
    return (
        times(real, cosines) + times(imaginary, sines),
        times(imaginary, cosines) - times(real, sines),
    )


def _is_zero(numbers: Any) -> bool:
    """Whether numbers of a graph are zeros that it makes itself."""
    operator = getattr(numbers, "op", None)  # eager numbers have none
    return operator is not None and operator.type == "ZerosLike"
