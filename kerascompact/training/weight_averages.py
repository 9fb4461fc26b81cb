"""Running averages of a model's weights over training steps."""

from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.optimizers.entry_rule import EntryRule
from kerascompact.optimizers.pending import catch_up, caught_up, pending_of

HALF = ("bfloat16", "float16")  # too few digits for the share of one step among many


class WeightAverages:
    """`w_bar = 1 / n sum_t w_t` of every trainable weight, kept beside the weights.

    A weight with a proximal rule is averaged as `caught_up` reads it. The average of an entry that
    was not always 0 is not 0: the averages that replace a weight without a constraint are 0
    wherever its latest value is 0, so that they are as sparse as it. An entry that an `EntryRule`
    has moved to another column since the last step is averaged as if it had been 0 before. Averages
    of a weight in bfloat16 or float16 are float32.

    Args:
        model: A model with weights. Those that are trainable now are read and replaced, and
            training goes on with them.

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
        self._variables = list(model.trainable_variables)
        self._averages = [
            tf.Variable(tf.zeros(v.shape, "float32" if v.dtype in HALF else v.dtype))
            for v in self._variables
        ]
        # By the place of a weight, the columns that its entries had when last added, and have now.
        self._columns = {
            place: (tf.Variable(pending.rule.columns.value), pending.rule.columns)
            for place, pending in enumerate(map(pending_of, self._variables))
            if pending is not None and isinstance(pending.rule, EntryRule)
        }
        self._held: list[tf.Tensor] | None = None
        self._optimizers: list[Any] | None = None  # in whose metric `_update` was traced

    def are_of(self, model: keras.Model) -> bool:
        """Whether they are averages of the weights of a model that are trainable now."""
        return model is self.model and [*map(id, self._variables)] == [
            *map(id, model.trainable_variables)
        ]

    def add(self) -> None:
        """Adds the weights as they are now."""
        self.steps += 1
        found = [pending and pending.optimizers for pending in map(pending_of, self._variables)]
        if found != self._optimizers:  # another one, or its first step is only now behind it
            self._optimizers = found
            self._update = tf.function(self._move, autograph=False)
        self._update(tf.constant(float(self.steps)))

    def replace_weights(self) -> None:
        """Puts the averages in place of the weights, until `restore_weights`."""
        if self._held is not None:
            return
        catch_up(self.model)  # or the steps that rows owe would be taken off the averages
        self._held = [tf.identity(variable.value) for variable in self._variables]
        for (average, variable), held in zip(self._pairs(), self._held, strict=True):
            value = tf.convert_to_tensor(average)
            limited = getattr(variable, "constraint", None) is not None  # its zeros are limits
            if pending_of(variable) is not None or not limited:
                value = tf.where(tf.equal(held, 0), tf.zeros_like(value), value)
            variable.assign(value)

    def restore_weights(self) -> None:
        """Puts the weights back that `replace_weights` has replaced."""
        for variable, held in zip(self._variables, self._held or (), strict=False):
            variable.assign(held)
        self._held = None

    def arrays(self) -> list[np.ndarray]:
        """The averages, without the zeros of the latest weights, and columns of their entries."""
        return [kept.numpy() for kept in self._state()]

    def fits(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether what `arrays` has returned has the shapes of these weights."""
        return [array.shape for array in arrays] == [tuple(kept.shape) for kept in self._state()]

    def load(self, arrays: Sequence[np.ndarray], steps: int) -> None:
        """Goes on from averages over `steps` steps that `arrays` has returned."""
        for kept, array in zip(self._state(), arrays, strict=True):
            kept.assign(array)
        self.steps = steps

    def _move(self, steps: tf.Tensor) -> None:
        for place, (average, variable) in enumerate(self._pairs()):
            value, before = tf.cast(caught_up(variable), average.dtype), average
            if place in self._columns:
                columns, now = self._columns[place]
                before = tf.where(tf.equal(columns, now.value), average, tf.zeros_like(average))
                columns.assign(now.value)
            moved = before + (value - before) / tf.cast(steps, average.dtype)
            average.assign(tf.where(tf.equal(steps, 1), value, moved))

    def _state(self) -> list[tf.Variable]:
        return [*self._averages, *(columns for columns, _ in self._columns.values())]

    def _pairs(self) -> Iterator[tuple[tf.Variable, Any]]:
        return zip(self._averages, self._variables, strict=True)
