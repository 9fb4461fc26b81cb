"""Answers of a classifier: the likeliest label, or every label that is likely enough."""

import numpy as np

THRESHOLD = 0.5


def likely(probabilities: np.ndarray) -> np.ndarray:
    """Which labels a text has, where each is there or not on its own.

    >>> likely(np.array([0.7, 0.2, 0.5])).tolist()
    [True, False, True]
    """
    return np.asarray(probabilities) >= THRESHOLD


def unequal(one: np.ndarray, other: np.ndarray, multi_label: bool = False) -> np.ndarray:
    """Whether two outputs `(..., classes)` answer differently.

    Args:
        one: Outputs.
        other: Outputs of the same shape.
        multi_label: Whether the answer is every likely label, in place of the likeliest.

    Returns: Booleans `(...)`.

    >>> one, other = np.array([[0.7, 0.9]]), np.array([[0.3, 0.8]])
    >>> unequal(one, other), unequal(one, other, multi_label=True)
    (array([False]), array([ True]))
    """
    if multi_label:
        return (likely(one) != likely(other)).any(axis=-1)
    return one.argmax(axis=-1) != other.argmax(axis=-1)
