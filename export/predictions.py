"""What a file and what Keras answer for rows of a data set, output by output."""

import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.cloning import is_graph
from kerascompact.export.interpreter import Interpreter
from kerascompact.export.rows import Rows
from kerascompact.export.serving import called

Outputs = dict[str, np.ndarray]


def of_file(file: Interpreter, data: Rows, progress: bool = False) -> tuple[Outputs, list[float]]:
    """The outputs of a file for each row, and the seconds of each run.

    Args:
        file: To run.
        data: A row, or a dictionary of rows, for each run.
        progress: Shows a progress bar.
    """
    names = [name for name in file.outputs if file.text is None or name != "spans"]
    found: dict[str, Rows] = {name: [] for name in names}
    seconds = []
    for row in _tracked(data, progress):
        rows = row if isinstance(row, dict) else {next(iter(file.inputs)): row}
        inputs = {name: array[None] for name, array in rows.items()}
        start = time.perf_counter()
        result = file.run(inputs)
        seconds.append(time.perf_counter() - start)
        for name in names:
            found[name].append(result[name][0])
    return {name: _stacked(outputs) for name, outputs in found.items()}, seconds


def of_keras(model: Any, data: Rows, names: list[str], batch_size: int = 256) -> Outputs:
    """Keras' outputs for rows, those of one length at a time.

    Args:
        model: Frozen.
        data: A row, or a dictionary of rows, for each.
        names: Of the outputs in the file.
        batch_size: Rows at once.

    Raises: ValueError, if it has other outputs.
    """
    found: dict[int, list[np.ndarray]] = {}
    for rows in _of_one_shape(data):
        batch = [data[row] for row in rows]
        if isinstance(batch[0], dict):
            order = _input_names(model) or [*batch[0]]
            pieces = [batch[at : at + batch_size] for at in range(0, len(batch), batch_size)]
            parts = [
                _named(model, called(model, _tensors(piece, order)), names) for piece in pieces
            ]
            outputs = [np.concatenate(part) for part in zip(*parts, strict=True)]
        else:
            answer = model.predict(np.stack(batch), batch_size=batch_size, verbose=0)
            outputs = _named(model, answer, names)
        for place, row in enumerate(rows):
            found[row] = [output[place] for output in outputs]
    columns = zip(*(found[row] for row in range(len(data))), strict=True)
    return {name: _stacked([*column]) for name, column in zip(names, columns, strict=True)}


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


def _tensors(rows: Rows, order: list[str]) -> dict[str, Any]:
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
