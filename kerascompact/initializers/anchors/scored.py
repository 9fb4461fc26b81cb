"""Anchors with the highest scores: frequency, TF-IDF, or a trained selection."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from kerascompact.core import checks


def frequency_anchors(counts: Any, num_anchors: int, exclude: Iterable[int] = ()) -> np.ndarray:
    """The most frequent objects; with equal counts, the lower id.

    Args:
        counts: How often each id occurs, `(V,)`, not negative.
        num_anchors: Number of anchors `|A|`.
        exclude: Ids that cannot be anchors, such as padding and the unknown word.
    Returns: `(|A|,)` int32, the most frequent first.
    Raises: ValueError, if an argument is out of its range, or too few objects are left.
    Example:
    >>> frequency_anchors([9, 1, 5, 5], 2, exclude=[0]).tolist()
    [2, 3]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), sec. 3.1.
    """
    return strongest_rows(weights_of("counts", counts), num_anchors, exclude)


def tf_idf_anchors(
    documents: np.ndarray | Sequence[np.ndarray],
    num_objects: int,
    num_anchors: int,
    exclude: Iterable[int] = (),
) -> np.ndarray:
    """The objects with the highest TF-IDF over all documents.

    `s_v = tf_v log(N / df_v)`: `tf_v` occurrences of `v` in `N` documents, `df_v` of which have it.
    That is the sum of the usual TF-IDF over the documents; a word of all documents has 0.

    Args:
        documents: Ids `(documents, length)`, or a list of documents `(tokens,)`.
        num_objects: Number of objects `V`.
        num_anchors: Number of anchors `|A|`.
        exclude: Ids that cannot be anchors, such as padding and the unknown word.
    Returns: `(|A|,)` int32, the highest first.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> tf_idf_anchors(np.array([[2, 3, 3], [2, 4, 0], [2, 0, 0]]), 5, 1, exclude=[0]).tolist()
    [3]

    Reference: [Salton & Buckley, 1988](https://doi.org/10.1016/0306-4573(88)90021-0), table 1, as a
    vocabulary selection: [Chen et al., NAACL 2019](https://arxiv.org/abs/1902.10339), sec. 5.
    """
    num_objects = checks.integer_in("num_objects", num_objects, 1)
    if not len(documents):
        checks.fail("documents", "at least one document", documents)
    occurrences = np.zeros(num_objects)
    having = np.zeros(num_objects)
    for document in documents:
        ids = checks.ids_below("documents", np.asarray(document), num_objects)
        found, counts = np.unique(ids, return_counts=True)
        occurrences[found] += counts
        having[found] += 1
    scores = occurrences * np.log(len(documents) / np.maximum(having, 1))
    return strongest_rows(scores, num_anchors, exclude)


def strongest_rows(scores: Any, num_anchors: int, exclude: Iterable[int] = ()) -> np.ndarray:
    """The objects with the highest scores; with equal scores, the lower id.

    For anchors from a trained selection: scores are the norms of a table's rows after
    group lasso, or `-log alpha` of a variational dropout of words.

    Args:
        scores: Score of each object, `(V,)`, finite.
        num_anchors: Number of anchors `|A|`.
        exclude: Ids that cannot be anchors.
    Returns: `(|A|,)` int32, the highest first.
    Raises: ValueError, if an argument is out of its range.
    Example:
    >>> table = np.array([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]])  # its first row is a zero group
    >>> strongest_rows(np.linalg.norm(table, axis=1), 2).tolist()
    [1, 2]

    Reference: [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), app. A.
    """
    values = np.asarray(scores, np.float64)
    if values.ndim != 1:
        checks.fail("scores", "of the shape (objects,)", values.shape)
    checks.finite("scores", values)
    order = np.argsort(-values, kind="stable")
    order = order[~np.isin(order, ids_of("exclude", exclude, len(values)))]
    num_anchors = checks.integer_in("num_anchors", num_anchors, 1, len(order))
    return order[:num_anchors].astype(np.int32)


def weights_of(name: str, values: Any, count: int | None = None) -> np.ndarray:
    """Weights `(V,)` as float64, finite and at least 0."""
    found = np.asarray(values, np.float64)
    if found.ndim != 1 or (count is not None and len(found) != count):
        shape = "(objects,)" if count is None else f"({count},)"
        checks.fail(name, f"of the shape {shape}", found.shape)
    checks.finite(name, found)
    if (found < 0).any():
        checks.fail(name, "at least 0", float(found.min()))
    return found


def ids_of(name: str, ids: Iterable[int], bound: int) -> np.ndarray:
    """Distinct ids below `bound` as int64."""
    found = np.asarray(list(ids), int) if not isinstance(ids, np.ndarray) else ids
    if len(np.unique(found)) != len(found):
        checks.fail(name, "a list of distinct ids", ids)
    return checks.ids_below(name, found, bound).astype(np.int64)
