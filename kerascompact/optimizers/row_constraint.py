"""Constraints that a lazy optimizer can apply to the updated rows alone."""

from collections.abc import Iterable
from typing import Any

import keras

from kerascompact.optimizers.guard import held_in_bfloat16

_NORMS = (
    keras.constraints.MaxNorm,
    keras.constraints.MinMaxNorm,
    keras.constraints.UnitNorm,
)


def row_constraint(variable: Any) -> Any:
    """The constraint of a variable if it treats every row separately, else `None`.

    These are Keras' `NonNeg`, and norms over axes other than the first. A user's constraint may
    compare rows, so Keras applies it to the entire variable.

    >>> table = keras.Variable([[3.0, 4.0]])
    >>> table.constraint = keras.constraints.UnitNorm(axis=1)
    >>> row_constraint(table) is table.constraint
    True
    >>> table.constraint = keras.constraints.UnitNorm(axis=0)  # of columns
    >>> row_constraint(table) is None
    True
    """
    constraint: Any = getattr(variable, "constraint", None)
    rank = len(variable.shape)
    if type(constraint) is keras.constraints.NonNeg:
        return constraint
    if type(constraint) not in _NORMS or constraint.axis is None:
        return None
    axes = constraint.axis if isinstance(constraint.axis, Iterable) else [constraint.axis]
    return constraint if all(axis % rank for axis in axes) else None


def without_keras_constraint(variable: Any) -> bool:
    """Whether a lazy optimizer applies the constraint of a variable, or is free from it.

    >>> without_keras_constraint(keras.Variable([1.0]))
    False
    """
    return held_in_bfloat16(variable) or row_constraint(variable) is not None
