"""Scores of a classifier's outputs: accuracy, and F1 over classes or over all answers."""

import numpy as np

from kerascompact.core import checks
from kerascompact.core.answers import likely

METRICS = ("accuracy", "macro_f1", "micro_f1")


def score(outputs: np.ndarray, labels: np.ndarray, metric: str = "accuracy") -> float:
    """Scores the outputs of a classifier, in `[0, 1]`.

    With one label a row, the answer is the largest output. With several, the answer is every label
    whose output is at least 0.5, and `labels` are a matrix. A class `c` with `t_c` right answers,
    `w_c` wrong ones and `m_c` missing ones has `F1_c = 2 t_c / (2 t_c + w_c + m_c)`.

    - `"accuracy"`: share of rows with the right label, or with exactly the right set of labels.
    - `"macro_f1"`: mean of `F1_c`. A class that is neither an answer nor a label of any row is
      left out if rows have one label, and counts as 0 if they have several.
    - `"micro_f1"`: F1 of the counts of all classes added up; with one label a row, the accuracy.

    These are the numbers of `accuracy_score` and `f1_score(zero_division=0)` in scikit-learn. A row
    with a NaN among its outputs has no answer, so that it is wrong.

    Args:
        outputs: Probabilities or, with one label a row, any scores, `(rows, classes)`.
        labels: Integers in `[0, classes)` `(rows,)`, or zeros and ones `(rows, classes)`.
        metric: One of `METRICS`.
    Returns: The score.
    Raises: ValueError, if there are no rows, `outputs` and `labels` do not fit each other, or no
        metric has that name.
    Example:
    >>> outputs = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    >>> score(outputs, np.array([0, 0, 1, 1]))
    0.75
    >>> round(score(outputs, np.array([0, 0, 1, 1]), "macro_f1"), 4)  # mean of 4 / 5 and 2 / 3
    0.7333
    >>> score(outputs, np.array([[1, 0], [1, 0], [1, 1], [1, 0]]))
    0.75

    Reference: [Opitz and Burst, 2019](https://arxiv.org/abs/1911.03347) ("averaged F1").
    """
    checks.choice("metric", metric, METRICS)
    outputs, labels = _checked(outputs, labels)
    if is_multi_label(labels):
        return _of_sets(outputs, labels.astype(bool), metric)
    answers, classes = np.argmax(outputs, axis=1), outputs.shape[1]
    answers[np.isnan(outputs).any(axis=1)] = classes  # none of them
    right = answers == labels
    if metric != "macro_f1":
        return float(np.mean(right))
    hits, given, wanted = (
        np.bincount(part, minlength=classes + 1)[:classes]
        for part in (labels[right], answers, labels)
    )
    seen = given + wanted > 0
    return _f1(hits[seen], given[seen], wanted[seen])


def is_multi_label(labels: np.ndarray) -> bool:
    """Whether labels are a matrix of zeros and ones, for rows that may have several.

    Args:
        labels: Labels of a split.
    Returns: `True` for `(rows, classes)`, `False` for `(rows,)`.
    Example:
    >>> is_multi_label(np.array([[0, 1], [1, 1]])), is_multi_label(np.array([1, 0]))
    (True, False)
    """
    return np.ndim(labels) == 2


def default_metric(labels: np.ndarray) -> str:
    """Metric to judge a classifier by, if none is asked for.

    Args:
        labels: Labels of a split, `(rows,)` or `(rows, classes)`.
    Returns: `"accuracy"`, or `"micro_f1"` if a row may have several labels.
    Example:
    >>> default_metric(np.array([1, 0])), default_metric(np.array([[0, 1], [1, 1]]))
    ('accuracy', 'micro_f1')
    """
    return "micro_f1" if is_multi_label(labels) else "accuracy"


def _of_sets(outputs: np.ndarray, wanted: np.ndarray, metric: str) -> float:
    answered = ~np.isnan(outputs).any(axis=1)
    given = likely(outputs) & answered[:, None]
    if metric == "accuracy":
        return float(np.mean((given == wanted).all(axis=1) & answered))
    axis = 0 if metric == "macro_f1" else None
    return _f1((given & wanted).sum(axis), given.sum(axis), wanted.sum(axis))


def _f1(hits: np.ndarray, given: np.ndarray, wanted: np.ndarray) -> float:
    return float(np.mean(2 * hits / np.maximum(given + wanted, 1)))


def _checked(outputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    outputs, labels = np.asarray(outputs), np.asarray(labels)
    if outputs.ndim != 2 or not outputs.size:
        checks.fail("outputs", "an array (rows, classes) with at least one row", outputs.shape)
    if labels.shape not in (outputs.shape, outputs.shape[:1]):
        shapes = f"{outputs.shape[:1]} or {outputs.shape}"
        checks.fail("labels", f"an array of the shape {shapes}, as the outputs", labels.shape)
    bound = 2 if is_multi_label(labels) else outputs.shape[1]
    whole = labels.dtype.kind in "iub"
    if not whole or labels.min() < 0 or labels.max() >= bound:
        checks.fail("labels", f"integers in [0, {bound})", labels)
    return outputs, labels
