"""How often each row of a table is looked up on examples."""

from collections.abc import Mapping

import numpy as np

from kerascompact.runtime.interpreter import bare
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.passes.lookups import ids_of
from kerascompact.tools.differences import set_shapes
from kerascompact.tools.float_constants import float_constants


def id_counts(data: bytes, inputs: Mapping[str, np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
    """Runs a file and counts the ids by which its tables are read.

    Args:
        data: Bytes of the file, checked by `flatbuffer.read`.
        inputs: An array `(examples, ...)` for each input, in their order, see `given_inputs`.

    Returns: For each table of the first graph, by the number of the graph and of its tensor, how
        often each row was read.

    Raises: ValueError, if the file cannot be run on the inputs.

    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, keras.layers.Embedding(50, 2)(ids))
    >>> data = kerascompact.export.convert(model, "float32")
    >>> [counts] = id_counts(data, {"ids": np.array([[[1, 2, 2, 4]]], "int32")}).values()
    >>> counts[:5].tolist()
    [0, 1, 2, 0, 1]
    """
    model = flatbuffer.parse(data)
    lookups, counts = {}, {}
    for found in float_constants(model):
        for use in found.uses:
            if use.graph == 0 and use.lookups:
                lookups[use.tensor] = [ids_of(model, one, use.tensor) for one in use.lookups]
                counts[use.tensor] = np.zeros(len(found.values), np.int64)
    runtime = bare(data, keep_all=True)
    set_shapes(runtime, inputs)
    for rows in zip(*inputs.values(), strict=True):
        for port, row in zip(runtime.get_input_details(), rows, strict=True):
            runtime.set_tensor(port["index"], row)
        try:
            runtime.invoke()
        except RuntimeError as error:  # such as an id that a table does not have
            reason = (str(error) or "no reason").splitlines()[0]
            raise ValueError(f"The file cannot be run on these examples: {reason}") from error
        for table, tensors in lookups.items():
            for tensor in tensors:
                ids = runtime.get_tensor(tensor).reshape(-1)
                counts[table] += np.bincount(ids, minlength=len(counts[table]))
    return {(0, table): found for table, found in counts.items()}
