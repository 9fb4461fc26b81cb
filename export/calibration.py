"""Calibration data for full-integer recipes."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.runtime import encoding
from kerascompact.runtime.named_inputs import given_texts, named_inputs, of_type


def calibration_runs(
    data: Any,
    specs: dict[str, tf.TensorSpec],
    text: bool = False,
    structure: Any = None,
    num_ids: Mapping[str, int] | None = None,
) -> Callable[[], Iterator[dict[str, np.ndarray]]]:
    """Splits representative data into runs of the file's batch size, 1 if that is open.

    Args:
        data: An array `(examples, ...)` for a model with one input; for more inputs, arrays with
            equally many examples as `model.fit` takes them (see `named_inputs`); or a list of
            texts, if the file takes text. A few hundred examples of the training data are enough.
        specs: Inputs of the file, in the order of the model.
        text: Whether the file takes text.
        structure: Names of the inputs, nested in lists and dictionaries as the model takes them.
        num_ids: For inputs of ids, the number of ids.

    Returns: A function that gives an iterator over the runs. The last run is filled up with the
        first examples.

    Raises: ValueError, if data and inputs do not fit.

    >>> ids = tf.TensorSpec((1, 2), tf.int32)
    >>> [run["ids"].tolist() for run in calibration_runs([[1, 2], [3, 4]], {"ids": ids})()]
    [[[1, 2]], [[3, 4]]]
    """
    if data is None:
        checks.fail("representative", "given: examples of the training data", data)
    if text:
        ((name, spec),) = specs.items()
        texts = given_texts("representative", data)
        examples = {name: [encoding.encode(text, spec.shape[1]).numbers for text in texts]}
    else:
        ranks = {name: spec.shape.rank for name, spec in specs.items()}
        arrays = named_inputs("representative", data, ranks, structure)
        examples = {
            name: [_example(name, one, specs[name]) for one in array]
            for name, array in _typed(arrays, specs, num_ids or {}).items()
        }
    batches = [_batches(found, specs[name]) for name, found in examples.items()]

    def runs() -> Iterator[dict[str, np.ndarray]]:
        for values in zip(*batches, strict=True):
            yield dict(zip(examples, values, strict=True))

    return runs


def _typed(
    arrays: Mapping[str, np.ndarray], specs: Mapping[str, tf.TensorSpec], num_ids: Mapping[str, int]
) -> dict[str, np.ndarray]:
    """The arrays in the types of the inputs, with ids that the tables have and finite numbers."""
    found = {
        name: of_type("representative", name, array, specs[name].dtype.as_numpy_dtype)
        for name, array in arrays.items()
    }
    for name, array in found.items():
        if array.dtype.kind == "f":  # TensorFlow's calibration crashes, or ends without a range
            checks.finite(f"representative[{name!r}]", array)
    for name, count in num_ids.items():
        outside = found[name][~((found[name] >= 0) & (found[name] < count))]
        if outside.size:
            checks.fail("representative", f"ids in [0, {count}) for {name!r}", outside[0].item())
    return found


def _example(name: str, one: np.ndarray, spec: tf.TensorSpec) -> np.ndarray:
    found = one[None]
    if not spec.shape[1:].is_compatible_with(found.shape[1:]):
        expected = f"examples of shape {spec.shape.as_list()[1:]} for {name!r}"
        checks.fail("representative", expected, found.shape[1:])
    return found


def _batches(examples: list[np.ndarray], spec: tf.TensorSpec) -> list[np.ndarray]:
    """Batches of the size of an input; the last one is filled up with the first examples."""
    size = spec.shape[0] or 1
    return [
        np.concatenate([examples[place % len(examples)] for place in range(start, start + size)])
        for start in range(0, len(examples), size)
    ]
