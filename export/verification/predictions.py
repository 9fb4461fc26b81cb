"""Predictions of a file and of Keras for the rows of a data set, output by output."""

import functools
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.keras_graph import is_graph
from kerascompact.export.trace import called
from kerascompact.export.verification.dataset_rows import Rows
from kerascompact.runtime.batches import batches
from kerascompact.runtime.interpreter import Interpreter

Outputs = dict[str, np.ndarray]

EAGER = 2  # batches that are predicted sooner than a graph is traced


def of_file(
    file: Interpreter, data: Rows, progress: bool = False, batch_size: int = 1
) -> tuple[Outputs, list[float]]:
    """The outputs of a file for each row, and the seconds of each run.

    Args:
        file: File to run.
        data: A row, or a dictionary of rows, for each run.
        progress: Shows a progress bar.
        batch_size: Rows of a run, of a file that takes any number; another has its own.
    """
    names = [name for name in file.outputs if file.text is None or name != "spans"]
    given = next(iter(file.inputs))
    rows = [row if isinstance(row, dict) else {given: row} for row in data]
    found: dict[int, list[np.ndarray]] = {}
    seconds = []
    for places, inputs in _tracked([*batches(rows, file.batch_size or batch_size)], progress):
        start = time.perf_counter()
        result = file.run(inputs)
        seconds.append(time.perf_counter() - start)
        size = len(next(iter(inputs.values())))
        wrong = [name for name in names if size > 1 and result[name].shape[:1] != (size,)]
        if wrong:
            shape = list(result[wrong[0]].shape)
            raise ValueError(
                f"`flatbuffer` must give {size} rows for {size} in each output. Received: "
                f"{wrong[0]!r} of shape {shape}."
            )
        for place, row in enumerate(places):
            found[row] = [result[name][place] for name in names]
    columns = zip(*(found[row] for row in range(len(data))), strict=True)
    return {name: _stacked([*column]) for name, column in zip(names, columns, strict=True)}, seconds


def keep_worse(found: Outputs, again: Outputs, wanted: Outputs) -> None:
    """Puts rows of `again` that are farther from what is wanted, or NaN, in their place in `found`.

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


def of_keras(model: Any, data: Rows, names: list[str], batch_size: int = 256) -> Outputs:
    """Keras' outputs for rows, those of one shape at a time.

    Args:
        model: Any Keras model; it is called with `training=False`.
        data: A row, or a dictionary of rows, for each.
        names: Of the outputs in the file.
        batch_size: Rows at once.

    Raises: ValueError, if it has other inputs or outputs.
    """
    found: dict[int, list[np.ndarray]] = {}
    pieces = [
        rows[at : at + batch_size]
        for rows in _of_one_shape(data)
        for at in range(0, len(rows), batch_size)
    ]
    call: Any = functools.partial(called, model)
    if len(pieces) > EAGER:
        call = tf.function(call, reduce_retracing=True)
    for rows in pieces:
        answer = call(_tensors(model, [data[row] for row in rows]))
        outputs = _named(model, answer, names)
        for place, row in enumerate(rows):
            found[row] = [output[place] for output in outputs]
    columns = zip(*(found[row] for row in range(len(data))), strict=True)
    return {name: _stacked([*column]) for name, column in zip(names, columns, strict=True)}


def predict_alone(model: Any, data: Rows, outputs: Outputs, rows: np.ndarray) -> None:
    """Puts Keras' outputs for some rows, each in a batch of its own, in the place of others.

    Keras' float32 result depends on the batch size; a phone has batch 1.

    Args:
        model: As in `of_keras`.
        data: As in `of_keras`.
        outputs: Those of `of_keras`, of all rows; changed.
        rows: Whether a row is to be predicted again, `(rows,)`; the first 1000 are.
    """
    for row in np.flatnonzero(rows)[:1000]:
        for name, alone in of_keras(model, [data[row]], [*outputs]).items():
            outputs[name][row][: len(alone[0])] = alone[0]


def _named(model: Any, outputs: Any, names: list[str]) -> list[np.ndarray]:
    """A model's outputs in the order of their names in the file; `Serve` gives them the same."""
    flat = keras.tree.flatten(outputs)
    if len(flat) == len(names) == 1:
        known = names  # a file of another maker may call it otherwise
    elif isinstance(outputs, dict):
        known = [*outputs]
        flat = [outputs[name] for name in known]
    else:
        known = getattr(model, "output_names", None) or []
        known = known if len(known) == len(flat) else [f"output_{i}" for i in range(len(flat))]
    if {*known} != {*names}:
        checks.fail("flatbuffer", f"a file with the outputs {sorted(known)}", sorted(names))
    found = dict(zip(known, flat, strict=True))
    return [np.asarray(keras.ops.convert_to_numpy(found[name])) for name in names]


def _tensors(model: Any, rows: Rows) -> dict[str, Any]:
    """A batch of rows as the named inputs of a model, in its order."""
    if not isinstance(rows[0], dict):
        names = _input_names(model) or ["ids"]
        if len(names) != 1:
            checks.fail("data", f"a dictionary with the keys {sorted(names)}", rows[0])
        return {names[0]: tf.constant(np.stack(rows))}
    order = _input_names(model) or [*rows[0]]
    if {*order} != {*rows[0]}:
        checks.fail("data", f"a dictionary with the keys {sorted(order)}", sorted(rows[0]))
    return {name: tf.constant(np.stack([row[name] for row in rows])) for name in order}


def _input_names(model: Any) -> list[str] | None:
    """The inputs of a graph of layers, in its order; a subclassed model takes that of the data."""
    return [tensor.name for tensor in model.inputs] if is_graph(model) else None


def _of_one_shape(data: Rows) -> list[list[int]]:
    groups: dict[Any, list[int]] = {}
    for index, row in enumerate(data):
        arrays = row.values() if isinstance(row, dict) else [row]
        groups.setdefault(tuple(array.shape for array in arrays), []).append(index)
    return [*groups.values()]


def _stacked(outputs: Rows) -> np.ndarray:
    """Outputs of all rows; those of a shorter text, one for each word, end in zeros."""
    if outputs[0].ndim > 1:
        longest = max(map(len, outputs))
        outputs = [np.pad(o, [(0, longest - len(o)), *[(0, 0)] * (o.ndim - 1)]) for o in outputs]
    return np.stack(outputs)


def _tracked(data: Rows, progress: bool) -> Any:
    if not progress:
        return data
    from rich.progress import track

    return track(data, description="verify")
