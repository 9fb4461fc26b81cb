"""Answers of a classifier: the likeliest label, or every label that is likely enough."""

import numpy as np

THRESHOLD = 0.5
SAME = 0.05  # of the largest number: inputs rounded to 8 bits cost about a hundredth a layer


def likely(probabilities: np.ndarray) -> np.ndarray:
    """Which labels a text has, where each is there or not on its own.

    >>> likely(np.array([0.7, 0.2, 0.5])).tolist()
    [True, False, True]
    """
    return np.asarray(probabilities) >= THRESHOLD


def chosen(outputs: np.ndarray) -> np.ndarray:
    """The label of each output `(..., classes)`: the likeliest, or 0 or 1 of a single probability.

    A single output is a probability if all are in [0, 1], else a logit, which says 1 above 0.

    >>> chosen(np.array([[0.2, 0.8]])).tolist(), chosen(np.array([[0.7], [0.2]])).tolist()
    ([1], [1, 0])
    """
    if outputs.shape[-1] != 1:
        return outputs.argmax(axis=-1)
    column = outputs[..., 0]
    return np.where(_are_probabilities(column), likely(column), column > 0).astype(np.int64)


def _are_probabilities(numbers: np.ndarray) -> bool:
    return bool(np.all((numbers >= 0) & (numbers <= 1)))


def unequal(one: np.ndarray, other: np.ndarray, multi_label: bool = False) -> np.ndarray:
    """Whether two outputs `(..., classes)` answer differently.

    Args:
        one: Outputs.
        other: Outputs of the same shape.
        multi_label: Whether the answer is every likely label, in place of the likeliest. So it is
            with a single probability. Single numbers that are none, as of a regression, differ if
            they are further apart than a twentieth of the largest.

    Integers and booleans on both sides are answers, such as tags: any other one differs.

    Returns: Booleans `(...)`.

    >>> unequal(np.array([[3, 1, 9], [1, 2, 9]]), np.array([[0, 4, 9], [1, 2, 9]]))
    array([ True, False])
    >>> one, other = np.array([[0.7, 0.9]]), np.array([[0.3, 0.8]])
    >>> unequal(one, other), unequal(one, other, multi_label=True)
    (array([False]), array([ True]))
    >>> unequal(np.array([[2.0], [40.0]]), np.array([[1.0], [37.0]]))
    array([False,  True])
    """
    if one.dtype.kind in "iub" and other.dtype.kind in "iub":
        return (one != other).any(axis=-1)
    if one.shape[-1] == 1 and not multi_label:
        multi_label = _are_probabilities(one) and _are_probabilities(other)
        if not multi_label:
            one, other = (side[..., 0].astype(np.float64) for side in (one, other))
            sizes = [np.abs(np.nan_to_num(side)).max(initial=0) for side in (one, other)]
            with np.errstate(invalid="ignore"):  # infinity less infinity
                return np.abs(one - other) > SAME * min(sizes)
    if multi_label:
        return (likely(one) != likely(other)).any(axis=-1)
    return one.argmax(axis=-1) != other.argmax(axis=-1)
