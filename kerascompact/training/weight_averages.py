"""Running averages of a model's weights over training steps."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.optimizers.pending import catch_up, caught_up, pending_of


class WeightAverages:
    """`w_bar = 1 / n sum_t w_t` of every trainable weight, kept beside the weights.

    A weight with a proximal rule is averaged as `caught_up` reads it. The average of an entry that
    was not always 0 is not 0: the averages that replace such a weight are 0 wherever its latest
    value is 0, so that they are as sparse as it. Averages of a weight in bfloat16 are float32.

    Args:
        model: A model with weights. They are read and replaced, and training goes on with them.

    >>> model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    >>> averages = WeightAverages(model)
    >>> for value in (1.0, 2.0):
    ...     model.set_weights([np.array([[value]])])
    ...     averages.add()
    >>> averages.arrays()[0].tolist(), averages.steps
    ([[1.5]], 2)
    """

    def __init__(self, model: keras.Model) -> None:
        self.model = model
        self.steps = 0  # that have been added
        self._averages = [
            tf.Variable(tf.zeros(v.shape, "float32" if v.dtype == "bfloat16" else v.dtype))
            for v in model.trainable_variables
        ]
        self._held: list[tf.Tensor] | None = None
        self._update = tf.function(self._move)

    def add(self) -> None:
        """Adds the weights as they are now."""
        self.steps += 1
        self._update(tf.constant(float(self.steps)))

    def replace_weights(self) -> None:
        """Puts the averages in place of the weights, until `restore_weights`."""
        if self._held is not None:
            return
        catch_up(self.model)  # or the steps that rows owe would be taken off the averages
        self._held = [tf.identity(variable.value) for variable in self.model.trainable_variables]
        for (average, variable), held in zip(self._pairs(), self._held, strict=True):
            value = tf.convert_to_tensor(average)
            if pending_of(variable) is not None:
                value = tf.where(tf.equal(held, 0), tf.zeros_like(value), value)
            variable.assign(value)

    def restore_weights(self) -> None:
        """Puts the weights back that `replace_weights` has replaced."""
        for variable, held in zip(self.model.trainable_variables, self._held or (), strict=False):
            variable.assign(held)
        self._held = None

    def arrays(self) -> list[np.ndarray]:
        """The averages, as they are: without the zeros of the latest weights."""
        return [average.numpy() for average in self._averages]

    def load(self, arrays: Sequence[np.ndarray], steps: int) -> None:
        """Goes on from averages over `steps` steps that `arrays` has returned."""
        for average, array in zip(self._averages, arrays, strict=True):
            average.assign(array)
        self.steps = steps

    def _move(self, steps: tf.Tensor) -> None:
        for average, variable in self._pairs():
            value = tf.cast(caught_up(variable), average.dtype)
            moved = average + (value - average) / tf.cast(steps, average.dtype)
            average.assign(tf.where(tf.equal(steps, 1), value, moved))

    def _pairs(self) -> Iterator[tuple[tf.Variable, Any]]:
        return zip(self._averages, self.model.trainable_variables, strict=True)
