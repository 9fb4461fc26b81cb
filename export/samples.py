"""The inputs that a file of integers takes the ranges of its numbers from."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.export import utf8


def samples(
    data: Any, specs: dict[str, tf.TensorSpec], text: bool = False
) -> Callable[[], Iterator[dict[str, np.ndarray]]]:
    """Makes runs of batch 1 of representative data.

    Args:
        data: An array `(rows, ...)` for a model of one input; a dictionary of such arrays, of equal
            rows, for more; or a list of texts, if the file takes text. Some hundred rows of the
            training data are enough.
        specs: The inputs of the file.
        text: Whether it takes text.

    Returns: What gives an iterator of them.

    Raises: ValueError, if data and inputs do not fit.

    >>> ids = tf.TensorSpec((1, 2), tf.int32)
    >>> [run["ids"].tolist() for run in samples([[1, 2], [3, 4]], {"ids": ids})()]
    [[[1, 2]], [[3, 4]]]
    """
    if data is None:
        checks.fail("representative", "given: rows of the training data", data)
    if text:
        ((name, spec),) = specs.items()
        given = isinstance(data, Sequence) and not isinstance(data, str | bytes) and len(data)
        if not given or not all(isinstance(one, str | bytes) for one in data):
            checks.fail("representative", "a list of texts, since the file takes text", data)
        rows = {name: [utf8.encode(one, spec.shape[1]).numbers for one in data]}
    else:
        arrays = data if isinstance(data, dict) else dict.fromkeys(specs, data)
        if set(arrays) != set(specs) or (len(specs) > 1 and not isinstance(data, dict)):
            checks.fail("representative", f"a dictionary with the keys {[*specs]}", data)
        rows = {
            name: [_row(name, row, specs[name]) for row in np.asarray(array)]
            for name, array in arrays.items()
        }
    numbers = {name: len(found) for name, found in rows.items()}
    if len(set(numbers.values())) != 1 or 0 in numbers.values():
        checks.fail("representative", "as many rows for each input, at least one", numbers)

    def runs() -> Iterator[dict[str, np.ndarray]]:
        for values in zip(*rows.values(), strict=True):
            yield dict(zip(rows, values, strict=True))

    return runs


def _row(name: str, row: Any, spec: tf.TensorSpec) -> np.ndarray:
    found = np.asarray(row)[None].astype(spec.dtype.as_numpy_dtype)
    if not spec.shape.is_compatible_with(found.shape):
        expected = f"rows of shape {spec.shape.as_list()[1:]} for {name!r}"
        checks.fail("representative", expected, found.shape[1:])
    return found
