"""Calibration data: runs of representative inputs for recipes of integers between the layers."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.runtime import encoding
from kerascompact.runtime.named_inputs import given_texts, named_inputs


def samples(
    data: Any, specs: dict[str, tf.TensorSpec], text: bool = False, structure: Any = None
) -> Callable[[], Iterator[dict[str, np.ndarray]]]:
    """Makes runs of representative data, of as many rows as the file takes; one, if it takes any.

    Args:
        data: An array `(rows, ...)` for a model of one input; for more, such arrays of equal rows,
            as `model.fit` takes them (see `named_inputs`); or a list of texts, if the file takes
            text. Some hundred rows of the training data are enough.
        specs: The inputs of the file, in the order of the model.
        text: Whether it takes text.
        structure: How the model takes its inputs: lists and dictionaries of their names.

    Returns: What gives an iterator of them. Where the last run lacks rows, it has the first ones
        again.

    Raises: ValueError, if data and inputs do not fit.

    >>> ids = tf.TensorSpec((1, 2), tf.int32)
    >>> [run["ids"].tolist() for run in samples([[1, 2], [3, 4]], {"ids": ids})()]
    [[[1, 2]], [[3, 4]]]
    """
    if data is None:
        checks.fail("representative", "given: rows of the training data", data)
    if text:
        ((name, spec),) = specs.items()
        texts = given_texts("representative", data)
        rows = {name: [encoding.encode(text, spec.shape[1]).numbers for text in texts]}
    else:
        ranks = {name: spec.shape.rank for name, spec in specs.items()}
        arrays = named_inputs("representative", data, ranks, structure)
        rows = {
            name: [_row(name, row, specs[name]) for row in array] for name, array in arrays.items()
        }
    batches = [_batches(found, specs[name]) for name, found in rows.items()]

    def runs() -> Iterator[dict[str, np.ndarray]]:
        for values in zip(*batches, strict=True):
            yield dict(zip(rows, values, strict=True))

    return runs


def _row(name: str, row: Any, spec: tf.TensorSpec) -> np.ndarray:
    found = np.asarray(row)[None].astype(spec.dtype.as_numpy_dtype)
    if not spec.shape[1:].is_compatible_with(found.shape[1:]):
        expected = f"rows of shape {spec.shape.as_list()[1:]} for {name!r}"
        checks.fail("representative", expected, found.shape[1:])
    return found


def _batches(rows: list[np.ndarray], spec: tf.TensorSpec) -> list[np.ndarray]:
    """Rows in batches of the size of an input, the first again where the last one lacks some."""
    size = spec.shape[0] or 1
    return [
        np.concatenate([rows[place % len(rows)] for place in range(start, start + size)])
        for start in range(0, len(rows), size)
    ]
