"""Predictions of a file and of Keras for the examples of a data set."""

import contextlib
import functools
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import batch_of_one, called, is_graph, named_outputs
from kerascompact.export.verification.examples import Examples
from kerascompact.runtime.batches import batches
from kerascompact.runtime.interpreter import Interpreter

Outputs = dict[str, np.ndarray]

EAGER = 2  # for up to this many batches, tracing a graph would take longer than predicting


def of_file(
    file: Interpreter, data: Examples, progress: bool = False, batch_size: int = 1
) -> tuple[Outputs, list[float]]:
    """Runs a file on each example.

    Args:
        file: File to run.
        data: An array or a dictionary of arrays for each example.
        progress: Whether to show a progress bar.
        batch_size: Examples per run, if the file takes any number; else it has its own.

    Returns: The outputs by name, and the seconds of each run.

    Raises: ValueError, if the outputs do not have the size of the batch.
    """
    names = [name for name in file.outputs if file.text is None or name != "spans"]
    given = next(iter(file.inputs))
    examples = [one if isinstance(one, dict) else {given: one} for one in data]
    found: dict[int, list[np.ndarray]] = {}
    seconds = []
    for places, inputs in _tracked([*batches(examples, file.batch_size or batch_size)], progress):
        start = time.perf_counter()
        result = file.run(inputs)
        seconds.append(time.perf_counter() - start)
        size = len(next(iter(inputs.values())))
        wrong = [name for name in names if result[name].shape[:1] != (size,)]
        if wrong:
            shape, many = list(result[wrong[0]].shape), "s" if size > 1 else ""
            raise ValueError(
                f"`flatbuffer` must give {size} answer{many} for {size} example{many} in each "
                f"output. Received: {wrong[0]!r} of shape {shape}."
            )
        for row, place in enumerate(places):
            found[place] = [result[name][row] for name in names]
    columns = zip(*(found[place] for place in range(len(data))), strict=True)
    return {name: _stacked([*column]) for name, column in zip(names, columns, strict=True)}, seconds


def keep_worse(found: Outputs, again: Outputs, wanted: Outputs) -> None:
    """Overwrites outputs in `found` where those in `again` are farther from `wanted`, or NaN.

    Args:
        found: Outputs by name, changed in place.
        again: Outputs of a second run.
        wanted: Outputs that both should have.

    >>> found, again = {"y": np.array([[1.0], [2.0]])}, {"y": np.array([[1.0], [5.0]])}
    >>> keep_worse(found, again, {"y": np.array([[1.0], [2.0]])})
    >>> found["y"].tolist()
    [[1.0], [5.0]]
    """
    for name, array in found.items():
        one, other = (
            np.abs(outputs.astype(np.float64) - wanted[name]).reshape(len(array), -1).max(axis=1)
            for outputs in (array, again[name])
        )
        array[~(other <= one)] = again[name][~(other <= one)]


def of_keras(model: Any, data: Examples, names: list[str], batch_size: int = 256) -> Outputs:
    """Calls a Keras model on each example, in batches of equal shapes.

    Args:
        model: Keras model of any kind; it is called with `training=False`.
        data: An array or a dictionary of arrays for each example.
        names: Names of the outputs in the file.
        batch_size: Largest number of examples in a batch.

    Returns: The outputs by name.

    Raises: ValueError, if the model has other inputs or outputs.
    """
    found: dict[int, list[np.ndarray]] = {}
    groups = [
        places[at : at + batch_size]
        for places in _of_one_shape(data)
        for at in range(0, len(places), batch_size)
    ]
    call: Any = functools.partial(called, model)
    if len(groups) > EAGER:
        call = tf.function(call, reduce_retracing=True)
    for places in groups:
        with batch_of_one() if len(places) == 1 else contextlib.nullcontext():
            answer = call(_tensors(model, [data[place] for place in places]))
        outputs = _named(model, answer, names)
        for row, place in enumerate(places):
            found[place] = [output[row] for output in outputs]
    columns = zip(*(found[place] for place in range(len(data))), strict=True)
    return {name: _stacked([*column]) for name, column in zip(names, columns, strict=True)}


def predict_alone(model: Any, data: Examples, outputs: Outputs, wanted: np.ndarray) -> None:
    """Predicts some examples again, each in a batch of its own, and overwrites their outputs.

    Keras' float32 result depends on the batch size, and a phone has batch 1.

    Args:
        model: Keras model of any kind.
        data: An array or a dictionary of arrays for each example.
        outputs: Outputs of `of_keras` for all examples, changed in place.
        wanted: Whether to predict an example again, `(examples,)`; at most 1000 are.
    """
    for place in np.flatnonzero(wanted)[:1000]:
        for name, alone in of_keras(model, [data[place]], [*outputs]).items():
            shorter = (slice(alone.shape[1]),) if alone.ndim > 1 else ()  # than the longest text
            outputs[name][place, *shorter] = alone[0]


def _named(model: Any, outputs: Any, names: list[str]) -> list[np.ndarray]:
    """A model's outputs in the order of their names in the file, named as `Serve` does."""
    found = named_outputs(model, outputs)
    if len(found) == len(names) == 1:
        found = dict(zip(names, found.values(), strict=True))  # other exporters have other names
    if {*found} != {*names}:
        checks.fail("flatbuffer", f"a file with the outputs {sorted(found)}", sorted(names))
    return [np.asarray(keras.ops.convert_to_numpy(found[name])) for name in names]


def _tensors(model: Any, batch: Examples) -> dict[str, Any]:
    """A batch of examples as the named inputs of a model, in its order."""
    if not isinstance(batch[0], dict):
        names = _input_names(model) or ["ids"]
        if len(names) != 1:
            checks.fail("data", f"a dictionary with the keys {sorted(names)}", batch[0])
        return {names[0]: tf.constant(np.stack(batch))}
    order = _input_names(model) or [*batch[0]]
    if {*order} != {*batch[0]}:
        checks.fail("data", f"a dictionary with the keys {sorted(order)}", sorted(batch[0]))
    return {name: tf.constant(np.stack([one[name] for one in batch])) for name in order}


def _input_names(model: Any) -> list[str] | None:
    """Names of the inputs of a graph of layers; `None` for a subclassed model."""
    return [tensor.name for tensor in model.inputs] if is_graph(model) else None


def _of_one_shape(data: Examples) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for place, one in enumerate(data):
        arrays = one.values() if isinstance(one, dict) else [one]
        groups.setdefault(tuple(array.shape for array in arrays), []).append(place)
    return [*groups.values()]


def _stacked(outputs: list[np.ndarray]) -> np.ndarray:
    """Stacks the outputs of all examples; those of shorter texts are padded with zeros."""
    if outputs[0].ndim and len({*map(len, outputs)}) > 1:
        longest = max(map(len, outputs))
        outputs = [np.pad(o, [(0, longest - len(o)), *[(0, 0)] * (o.ndim - 1)]) for o in outputs]
    return np.stack(outputs)


def _tracked(data: list[Any], progress: bool) -> Any:
    if not progress:
        return data
    from rich.progress import track

    return track(data, description="verify")
