"""Argument checks that all raise the same sentence.

``` `rank` must be an integer in [1, 8]. Received: rank=9 (of type int). ```
"""

import math
from collections.abc import Collection
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np


def fail(name: str, expected: str, value: Any) -> NoReturn:
    """Raises the one `ValueError` that every bad argument gets.

    >>> fail("rank", "an integer in [1, 8]", 9)
    Traceback (most recent call last):
        ...
    ValueError: `rank` must be an integer in [1, 8]. Received: rank=9 (of type int).
    """
    shown = repr(value)
    shown = shown if len(shown) <= 120 else shown[:117] + "..."
    raise ValueError(
        f"`{name}` must be {expected}. Received: {name}={shown} (of type {type(value).__name__})."
    )


def integer_in(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Returns `value` as an `int` in `[low, high]`; booleans are no integers here.

    >>> integer_in("rank", np.int64(3), 1, 8)
    3
    """
    good = isinstance(value, Integral) and not isinstance(value, bool)
    if not good or value < low or (high is not None and value > high):
        fail(
            name,
            f"an integer >= {low}" if high is None else f"an integer in [{low}, {high}]",
            value,
        )
    return int(value)


def seed(value: Any) -> int:
    """Returns a seed of random numbers, in `[0, 2^32)` as Keras and scikit-learn take it.

    >>> seed(7)
    7
    """
    return integer_in("seed", value, 0, 2**32 - 1)


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    up_to: float = math.inf,
) -> float:
    """Returns `value` as a finite `float` within the bounds; `above` and `below` are excluded.

    >>> number("dropout", 0.5, at_least=0, below=1)
    0.5
    """
    good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not (above < value < below and at_least <= value <= up_to):
        low, high = max(above, at_least), min(below, up_to)
        if low == -math.inf or high == math.inf:
            lower = "" if low == -math.inf else f" {'>' if low == above else '>='} {low:g}"
            upper = "" if high == math.inf else f" {'<' if high == below else '<='} {high:g}"
            fail(name, f"a finite number{lower}{upper}", value)
        opens, closes = "(" if low == above else "[", ")" if high == below else "]"
        fail(name, f"a number in {opens}{low:g}, {high:g}{closes}", value)
    return float(value)


def boolean(name: str, value: Any) -> bool:
    """Returns `value` if it is `True` or `False`.

    >>> boolean("mask_zero", True)
    True
    """
    if not isinstance(value, bool | np.bool_):
        fail(name, "True or False", value)
    return bool(value)


def choice(name: str, value: Any, allowed: Collection[Any]) -> Any:
    """Returns `value` if it is one of `allowed`.

    >>> choice("recipe", "int8", ("float32", "int8"))
    'int8'
    """
    if not isinstance(value, str | int | None) or value not in allowed:
        fail(name, "one of " + ", ".join(map(repr, allowed)), value)
    return value


def finite(name: str, array: np.ndarray) -> np.ndarray:
    """Returns `array` if no entry is NaN or infinite.

    >>> finite("table", np.zeros(2)).shape
    (2,)
    """
    bad = np.size(array) - np.count_nonzero(np.isfinite(array))
    if bad:
        raise ValueError(
            f"`{name}` must hold finite numbers only. "
            f"Received: {bad} of {np.size(array)} entries NaN or infinite."
        )
    return array


def ids_below(name: str, ids: np.ndarray, bound: int) -> np.ndarray:
    """Returns the integer array `ids` if every entry is in `[0, bound)`.

    >>> ids_below("ids", np.array([0, 4]), 5)
    array([0, 4])
    """
    ids = np.asarray(ids)
    if not np.issubdtype(ids.dtype, np.integer):
        fail(name, "an array of integers", ids)
    if ids.size and (ids.min() < 0 or ids.max() >= bound):
        worst = int(ids.min() if ids.min() < 0 else ids.max())
        raise ValueError(
            f"`{name}` must lie in [0, {bound}), the vocabulary. Received: an id of {worst}."
        )
    return ids
