"""Rules: penalties of a table whose proximal step an optimizer takes."""

from collections.abc import Mapping
from typing import Any, Protocol

import keras
import numpy as np
import tensorflow as tf
from keras.optimizers.schedules import LearningRateSchedule as Schedule

from kerascompact.core import checks
from kerascompact.ops.prox import (
    group_soft_threshold,
    nonnegative_soft_threshold,
    soft_threshold,
)


class Rule(Protocol):
    """Rule that `proximal_rule` attaches to a variable.

    `penalty_weight` is `lambda`, a number or a schedule. `separable` says whether each entry may
    have its own threshold.
    """

    penalty_weight: float | Schedule
    separable: bool

    def build(self, shape: tuple[int, ...]) -> None:
        """Raises `ValueError` if the rule does not fit a variable of this shape."""

    def prox(self, rows: tf.Tensor, thresholds: tf.Tensor, ids: tf.Tensor | None) -> tf.Tensor:
        """The rows `ids` of the variable (`None`: all of them) after a step of the penalty."""


class L1Rule:
    """`lambda * ||T * S||_1`: soft-thresholds every entry but the un-penalised ones.

    `T = prox(T * S) + T * (1 - S)`, where `S` is 0 at un-penalised entries and 1 elsewhere; with
    `nonnegative`, all negative entries become 0.

    Args:
        penalty_weight: Weight `lambda >= 0`, or a Keras schedule that gives it for a step.
        nonnegative: Whether negative entries become 0, also un-penalised ones.
        unpenalised: Integers `(n, 2)`, the (row, column) of entries with `S = 0`; repeats count
            once. Rows that have such an entry take a bit per column, other rows nothing, and every
            row an int32: there is no `(V, A)` array.

    Raises: ValueError, if an argument is wrong, or (when attached) an entry is outside the table.

    >>> rule = L1Rule(0.1, unpenalised=np.array([[1, 0]]))
    >>> rule.build((3, 2))
    >>> rule.prox(tf.ones((2, 2)), tf.constant(0.5), tf.constant([1, 2])).numpy().tolist()
    [[1.0, 0.5], [0.5, 0.5]]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), eq. 4 and 5,
    algorithm 1, line 10.
    """

    separable = True

    def __init__(
        self, penalty_weight: float | Schedule, nonnegative: bool = False, unpenalised: Any = None
    ) -> None:
        self.penalty_weight = penalty_weight_of(penalty_weight)
        self.nonnegative = checks.boolean("nonnegative", nonnegative)
        self.unpenalised = None
        if unpenalised is not None:
            self.unpenalised = np.asarray(unpenalised)
            if self.unpenalised.ndim != 2 or self.unpenalised.shape[1] != 2:
                checks.fail("unpenalised", "(row, column) pairs of shape (n, 2)", unpenalised)
        self._places: tf.Tensor | None = None
        self._bits: tf.Tensor | None = None
        self._columns = 0

    def build(self, shape: tuple[int, ...]) -> None:
        """Packs the un-penalised entries, one bit each."""
        if self.unpenalised is None or not len(self.unpenalised):
            return
        if len(shape) != 2:
            raise ValueError(
                "`unpenalised` entries need a variable of two axes. "
                f"Received: a variable of shape {tuple(shape)}."
            )
        rows = checks.ids_below("unpenalised rows", self.unpenalised[:, 0], shape[0])
        columns = checks.ids_below("unpenalised columns", self.unpenalised[:, 1], shape[1])
        some, place = np.unique(rows, return_inverse=True)
        places = np.zeros(shape[0], np.int32)
        places[some] = np.arange(1, len(some) + 1)
        bits = np.zeros((len(some) + 1, -(-shape[1] // 8)), np.uint8)  # row 0: all are penalised
        ones = np.left_shift(1, columns % 8).astype(np.uint8)
        np.bitwise_or.at(bits, (place.reshape(-1) + 1, columns // 8), ones)
        with tf.init_scope():  # captured by traced steps, not copied into them
            self._places, self._bits = tf.constant(places), tf.constant(bits)
        self._columns = shape[1]

    def prox(self, rows: tf.Tensor, thresholds: tf.Tensor, ids: tf.Tensor | None) -> tf.Tensor:
        moved = (nonnegative_soft_threshold if self.nonnegative else soft_threshold)(
            rows, thresholds
        )
        free = self.unpenalised_of(ids)
        if free is None:
            return moved
        kept = tf.maximum(rows, 0) if self.nonnegative else rows
        return tf.where(free, kept, moved)

    def unpenalised_of(self, ids: tf.Tensor | None) -> tf.Tensor | None:
        """Which entries of rows `ids` (`None`: of all) are not penalised; `None`: no entry is."""
        if self._bits is None:
            return None
        places = self._places if ids is None else tf.gather(self._places, ids)
        digits = tf.expand_dims(tf.gather(self._bits, places), -1)
        digits = tf.bitwise.bitwise_and(digits, 2 ** np.arange(8, dtype=np.uint8))
        free = tf.reshape(digits, tf.concat([tf.shape(places), [8 * self._bits.shape[1]]], 0))
        return free[..., : self._columns] > 0


class GroupRule:
    """`lambda * sum_i ||row_i||_2`, group lasso: rows shrink until they are zero.

    Args:
        penalty_weight: Weight `lambda >= 0`, or a Keras schedule that gives it for a step.

    Raises: ValueError, if `penalty_weight` is negative, or the weight it is attached to
        has not two axes.

    >>> GroupRule(0.1).prox(tf.constant([[3.0, 4.0]]), tf.constant([[5.0]]), None).numpy().tolist()
    [[0.0, 0.0]]

    Reference: [Wen et al., NeurIPS 2016](https://arxiv.org/abs/1608.03665), eq. 2; the proximal
    step of it in [Yuan & Lin, JRSS-B 2006](https://doi.org/10.1111/j.1467-9868.2005.00532.x).
    Differs: they train it by its subgradient, which gives no zeros.
    """

    separable = False

    def __init__(self, penalty_weight: float | Schedule) -> None:
        self.penalty_weight = penalty_weight_of(penalty_weight)

    def build(self, shape: tuple[int, ...]) -> None:
        if len(shape) != 2:
            raise ValueError(
                "GroupRule needs a variable of two axes. "
                f"Received: a variable of shape {tuple(shape)}."
            )

    def prox(self, rows: tf.Tensor, thresholds: tf.Tensor, ids: tf.Tensor | None) -> tf.Tensor:
        return group_soft_threshold(rows, thresholds)


def penalty_weight_of(value: Any, name: str = "penalty_weight") -> float | Schedule:
    """Reads a weight: a number, a schedule, or the configuration of a schedule.

    >>> schedule = keras.optimizers.schedules.CosineDecay(0.1, 9)
    >>> penalty_weight_of(penalty_weight_to_config(schedule))(0).numpy()
    np.float32(0.1)
    """
    if isinstance(value, Mapping):
        return keras.optimizers.schedules.deserialize(value)
    if isinstance(value, Schedule):
        return value
    return checks.number(name, value, at_least=0)


def penalty_weight_to_config(penalty_weight: float | Schedule) -> Any:
    """Configuration from which `penalty_weight_of` restores the weight."""
    if isinstance(penalty_weight, Schedule):
        return keras.optimizers.schedules.serialize(penalty_weight)
    return penalty_weight
