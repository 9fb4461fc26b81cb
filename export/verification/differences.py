"""Differences between the outputs of two models, and limits for them."""

import math
from typing import Any, NamedTuple

import numpy as np

from kerascompact.core import checks
from kerascompact.core.answers import chosen, unequal
from kerascompact.training.scores import score

# Float32 sums in another order may differ by this much after an LSTM of hundreds of steps, if they
# are up to 1; larger ones, as logits are, by as much more.
ROUNDING = 1e-5


class Bounds(NamedTuple):
    """Limits of a pair: the largest difference, and the smallest agreement with ties included."""

    difference: float
    agreement: float

    def __str__(self) -> str:
        return f"difference {self.difference:g}, agreement {self.agreement:g}"

    def facts(self) -> dict[str, float | None]:
        """The limits for JSON; infinity is `None`."""
        return {
            **self._asdict(),
            "difference": self.difference if self.difference < math.inf else None,
        }


# For two models that add the same float32 products in another order: 100 times the largest error
# that was seen.
EXACT = Bounds(1e-4, 1.0)
# For a file that multiplies rounded inputs as integers, which Keras does not.
ROUNDED = Bounds(math.inf, 0.98)


class Difference(NamedTuple):
    """Difference between the outputs of two models over all examples.

    Args:
        agreement: Share of examples with the same argmax in every output; with the same set of
            labels, if an example may have several; with close numbers, if the outputs are single
            ones, see `unequal`.
        ties: Examples with another answer although no output differs by more than `ROUNDING`, times
            the largest number of that output if it is above 1, so that both are equally good.
        largest: Largest absolute difference of an output.
        mean: Mean absolute difference of the outputs.
        worst_example: Index of the example with the largest difference.
        sets: Whether an answer is a set of labels.
    """

    agreement: float
    ties: int
    largest: float
    mean: float
    worst_example: int
    sets: bool = False

    def __str__(self) -> str:
        what = "same sets of labels" if self.sets else "argmax agreement"
        ties = f" ({self.ties} ties within float32 rounding)" if self.ties else ""
        return (
            f"{what} {self.agreement:.6f}{ties}, largest difference "
            f"{self.largest:.2e}, mean {self.mean:.2e}"
        )

    def within(self, bounds: Bounds, examples: int) -> bool:
        """Whether the difference keeps the limits; NaN never does.

        Args:
            bounds: Limits of the pair.
            examples: Number of examples that were compared.
        """
        same = self.agreement + self.ties / examples
        return self.largest <= bounds.difference and same >= bounds.agreement - 1e-12


def difference(
    one: dict[str, np.ndarray], other: dict[str, np.ndarray], multi_label: bool = False
) -> Difference:
    """Compares named outputs of equal shapes, `(examples, ...)` each; NaN in both is the same.

    Args:
        one: Outputs of a model by name.
        other: Outputs of the other model.
        multi_label: Whether the answer is every label from 0.5 on, in place of the argmax.

    >>> difference({"y": np.array([[0.25, 0.75]])}, {"y": np.array([[0.75, 0.25]])}).agreement
    0.0
    """
    largest, total, size = np.zeros(len(next(iter(one.values())))), 0.0, 0
    close = np.ones(len(largest), bool)
    for name, array in one.items():
        apart = _distances(array, other[name])
        sizes = np.where(np.isfinite(array), np.abs(array), 0.0).reshape(apart.shape)
        close &= apart.max(axis=1) <= ROUNDING * sizes.max(axis=1, initial=1.0)
        largest = np.maximum(largest, apart.max(axis=1))  # a NaN of one of them stays one
        total, size = total + apart.sum(), size + apart.size
    same = ~differ(one, other, multi_label)
    return Difference(
        agreement=float(np.mean(same)),
        ties=int(np.count_nonzero(~same & close)),
        largest=float(largest.max()),
        mean=float(total / size),
        worst_example=int(np.argmax(np.nan_to_num(largest, nan=np.inf))),
        sets=multi_label,
    )


def _distances(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Absolute differences of an output, `(examples, numbers)`; of two NaN or infinities 0."""
    both = one.astype(np.float64), other.astype(np.float64)
    alike = (both[0] == both[1]) | np.isnan(both).all(axis=0)
    apart = np.abs(np.subtract(*both, where=~alike, out=np.zeros_like(both[0])))
    return apart.reshape(len(one), -1)


def far(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> np.ndarray:
    """Whether an output of an example differs by more than `EXACT` allows, `(examples,)`.

    >>> far({"y": np.array([[1.0], [2.0]])}, {"y": np.array([[1.0], [2.1]])}).tolist()
    [False, True]
    """
    largest = [_distances(array, other[key]).max(axis=1) for key, array in one.items()]
    return ~(np.max(largest, axis=0) <= EXACT.difference)  # a NaN of one of them is far


def differ(
    one: dict[str, np.ndarray], other: dict[str, np.ndarray], multi_label: bool = False
) -> np.ndarray:
    """Whether any answer of an example differs, `(examples,)`; there may be one per token."""
    apart = [unequal(_rows(array), _rows(other[key]), multi_label) for key, array in one.items()]
    return np.any([wrong.reshape(len(wrong), -1).any(axis=1) for wrong in apart], axis=0)


def _rows(array: np.ndarray) -> np.ndarray:
    """A number for each example as a column, as of one output; all else as it is."""
    return array[:, None] if array.ndim == 1 else array


def without_numbers(outputs: dict[str, np.ndarray]) -> int:
    """Number of examples for which an output has NaN.

    >>> without_numbers({"y": np.array([[0.5, 0.5], [np.nan, np.nan]])})
    1
    """
    wrong = [np.isnan(array).reshape(len(array), -1).any(axis=1) for array in outputs.values()]
    return int(np.count_nonzero(np.any(wrong, axis=0)))


def accuracy(
    outputs: dict[str, np.ndarray], labels: Any, multi_label: bool = False
) -> float | None:
    """Share of examples whose answer is the label, see `chosen`; `None` without labels.

    Args:
        outputs: One output by its name, `(examples, ..., classes)`.
        labels: Class of each answer, `(examples, ...)` or `(examples, ..., 1)`; or zeros and ones
            of the shape of the output. These are one class each if every row has a single one,
            else sets, whose accuracy is the share of exactly right ones, see `score`.
        multi_label: Whether rows with a single one are sets, too.

    Raises: ValueError, if the labels are no numbers or no classes, or their shape does not fit the
        output.

    >>> accuracy({"y": np.array([[0.2, 0.8], [0.7, 0.3]])}, [[1], [1]])
    0.5
    """
    if labels is None:
        return None
    (answers,) = map(_rows, outputs.values())
    given = np.asarray(labels)
    shape, classes = answers.shape[:-1], answers.shape[-1]
    if given.dtype.kind not in "iufb" or given.shape not in (shape, (*shape, 1), answers.shape):
        expected = f"numbers of the shape {shape} or {answers.shape}, as the outputs"
        checks.fail("labels", expected, labels)
    if classes > 1 and given.shape == answers.shape:
        one_hot = np.all((given == 0) | (given == 1)) and np.all(given.sum(axis=-1) == 1)
        if multi_label or not one_hot:
            return score(answers, given)
        given = given.argmax(axis=-1)
    if classes > 1 and not np.all((given >= 0) & (given < classes) & (given == np.floor(given))):
        checks.fail("labels", f"classes, integers in [0, {classes - 1}]", labels)
    return float(np.mean(chosen(answers) == given.reshape(shape)))
