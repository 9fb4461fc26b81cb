"""Arrays that belong to a model, not to a batch, such as the adjacency matrix of its graph."""

from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class Constants(keras.layers.Layer):
    """Returns the same arrays for any input.

    A functional model computes from its inputs only; called on one of them, this layer adds arrays.
    They are weights that are not trained: they are saved with the model, and XLA knows their
    shapes.

    Args:
        arrays: Arrays by name, or `(shape, dtype)` for an array that is loaded later.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: anything -> a dictionary of the arrays, each in its own shape and type.
    Raises: ValueError, if there are no arrays, or one does not hold numbers or booleans.

    >>> held = Constants({"edges": np.array([[0, 1]])})(np.zeros(7))
    >>> held["edges"].numpy().tolist()
    [[0, 1]]
    """

    def __init__(self, arrays: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        if not isinstance(arrays, Mapping) or not arrays:
            checks.fail("arrays", "a dictionary of at least one array", arrays)
        self.shapes: dict[str, tuple[tuple[int, ...], str]] = {}
        self.given: dict[str, np.ndarray] = {}
        for name, array in arrays.items():
            if isinstance(array, tuple | list) and len(array) == 2 and isinstance(array[1], str):
                shape, dtype = array
            else:
                self.given[name] = _narrow(name, np.asarray(array))
                shape, dtype = self.given[name].shape, str(self.given[name].dtype)
            self.shapes[name] = (tuple(int(size) for size in shape), dtype)

    def build(self, input_shape: Any = None) -> None:
        self.held = {}
        for name, (shape, dtype) in self.shapes.items():
            self.held[name] = self.add_weight(
                shape=shape,
                initializer="zeros",
                dtype=dtype,
                trainable=False,
                autocast=False,
                name=name,
            )
            if name in self.given:
                self.held[name].assign(self.given[name])
        self.given = {}  # the weights hold them now

    def call(self, inputs: Any) -> dict[str, tf.Tensor]:
        return {name: weight.value for name, weight in self.held.items()}

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        return {
            name: keras.KerasTensor(shape, dtype) for name, (shape, dtype) in self.shapes.items()
        }

    def get_config(self) -> dict[str, Any]:
        arrays = {name: [list(shape), dtype] for name, (shape, dtype) in self.shapes.items()}
        return {**super().get_config(), "arrays": arrays}


def _narrow(name: str, array: np.ndarray) -> np.ndarray:
    """Whole numbers as int32 and others as float32, the types that models compute in."""
    kinds = {"f": np.float32, "i": np.int32, "u": np.int32, "b": np.bool_}
    if array.dtype.kind not in kinds:
        checks.fail("arrays", "a dictionary of arrays of numbers or booleans", array)
    checks.finite(name, array)
    narrow: np.ndarray = array.astype(kinds[array.dtype.kind])
    if array.dtype.kind in "iu" and np.any(narrow != array):
        raise ValueError(
            f"`{name}` must lie in [-2^31, 2^31). "
            f"Received: numbers from {array.min()} to {array.max()}."
        )
    return narrow
