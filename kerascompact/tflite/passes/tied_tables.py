"""Pass that stores a table once that words are read from and scored with."""

from typing import Any

import numpy as np

from kerascompact.tflite.graph_edits import OP, TYPE, constant, drop_unused, kind, users
from kerascompact.tflite.passes.input_factors import InputFactors
from kerascompact.tflite.passes.kernels import NODE_BYTES, SAME, multiplies

CHUNK = 4096  # rows compared at a time: most kernels are told apart by the first


def read_from_tables(model: Any) -> None:
    """Lets dense operators read the table that their kernel is, times factors of the inputs.

    The converter multiplies a kernel with what its inputs were multiplied with, such as the gains
    of a normalization: the table of a model that scores words by their own vectors was there twice.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        gathered = {int(one.inputs[0]) for one in graph.operators if kind(model, one) == OP.GATHER}
        tables = {index: _matrix(model, graph, index) for index in sorted(gathered)}
        factors = InputFactors(model, graph)
        for index in range(len(graph.tensors)):
            readers = users(graph, index)
            if index in tables or index in graph.outputs or not readers:
                continue
            if not all(multiplies(model, one, index, OP.FULLY_CONNECTED) for one in readers):
                continue
            kernel = _matrix(model, graph, index)
            if kernel is None or kernel.nbytes <= 4 * kernel.shape[1] + NODE_BYTES:
                continue
            for place, table in tables.items():
                found = factors_of(kernel, table)
                if found is None or np.all(found == 1):  # then both are one array already
                    continue
                factors.multiply(readers, found)
                for reader in readers:
                    inputs = [reader.inputs[0], place, *reader.inputs[2:]]
                    reader.inputs = np.array(inputs, np.int32)
                break
        if factors.known:
            drop_unused(graph)


def factors_of(kernel: np.ndarray, table: np.ndarray | None) -> np.ndarray | None:
    """Factors `f` of the columns, if `kernel[v, i] = table[v, i] f[i]`; else `None`.

    >>> factors_of(np.float32([[2.0, 9.0]]), np.float32([[1.0, 3.0]])).tolist()
    [2.0, 3.0]
    """
    if table is None or kernel.shape != table.shape:
        return None
    places = np.argmax(np.abs(table), axis=0)[None]
    largest, values = (np.take_along_axis(one, places, axis=0)[0] for one in (table, kernel))
    found = np.where(largest == 0, 0, values / np.where(largest == 0, 1, largest))
    parts = (slice(start, start + CHUNK) for start in range(0, len(table), CHUNK))
    if all(np.allclose(table[one] * found, kernel[one], rtol=SAME, atol=0) for one in parts):
        return found.astype(np.float32)
    return None


def _matrix(model: Any, graph: Any, index: int) -> np.ndarray | None:
    tensor = graph.tensors[index]
    values = constant(model, tensor, np.float32) if tensor.type == TYPE.FLOAT32 else None
    return values if values is not None and values.ndim == 2 else None
