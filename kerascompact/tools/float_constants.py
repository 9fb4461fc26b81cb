"""Float constants of a parsed model that operators read."""

from typing import Any, NamedTuple

import numpy as np

from kerascompact.tflite.constants import LOOKUPS
from kerascompact.tflite.graph_edits import OP, TYPE, constant, kind, users
from kerascompact.tflite.operators import OPERATORS
from kerascompact.tflite.passes.lookups import lookups_of
from kerascompact.tflite.tensor_names import label

SMALLEST = 64  # numbers; fewer are not worth the operators that read them
# Operators that read few numbers of a constant, or hand it to another graph: it is not unpacked.
APART = {*LOOKUPS, "WHILE", "IF", "CALL", "CALL_ONCE", "ASSIGN_VARIABLE"}


class Use(NamedTuple):
    """Tensor by which operators of a graph read a constant, as float32.

    Args:
        graph: Number of the graph.
        tensor: Index of the tensor, or of the result of the `DEQUANTIZE` of a float16 constant.
        lookups: Operators that read rows of it by ids.
        kernels: Operators that read all numbers in every run, such as products.
        others: Names of all other operators that read it.
    """

    graph: int
    tensor: int
    lookups: list[Any]
    kernels: list[Any]
    others: list[str]


class FloatConstant(NamedTuple):
    """Float constant of a file, and everything that reads it.

    Args:
        name: Name of its first tensor; may be empty.
        dtype: "float32" or "float16".
        values: The numbers, float32.
        uses: The tensors by which it is read; several may share one buffer.
    """

    name: str
    dtype: str
    values: np.ndarray
    uses: list[Use]

    @property
    def num_bytes(self) -> int:
        return self.values.size * (2 if self.dtype == "float16" else 4)

    @property
    def is_table(self) -> bool:
        return any(use.lookups for use in self.uses)

    @property
    def is_kernel(self) -> bool:
        return any(use.kernels for use in self.uses)

    @property
    def others(self) -> list[str]:
        return sorted({name for use in self.uses for name in use.others})


def float_constants(model: Any) -> list[FloatConstant]:
    """Lists the float constants with at least 64 numbers that an operator reads, largest first.

    Args:
        model: `ModelT` of the schema.

    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, keras.layers.Embedding(50, 2)(ids))
    >>> data = kerascompact.export.convert(model, "float32")
    >>> (found,) = float_constants(kerascompact.tflite.flatbuffer.parse(data))
    >>> found.values.shape, found.is_table
    ((50, 2), True)
    """
    found: dict[int, FloatConstant] = {}
    for number, graph in enumerate(model.subgraphs):
        for index, tensor in enumerate(graph.tensors):
            kinds = {TYPE.FLOAT32: np.float32, TYPE.FLOAT16: np.float16}
            values = None
            if tensor.type in kinds and tensor.sparsity is None:
                values = constant(model, tensor, kinds[tensor.type])
            if values is None or values.ndim < 2 or values.size < SMALLEST:
                continue
            uses = _uses(model, number, graph, index)
            if not uses:
                continue
            known = found.get(tensor.buffer)
            if known is not None and known.values.shape == values.shape:
                known.uses.extend(uses)
            elif known is not None:  # one buffer, read in two shapes: it stays
                known.uses.extend(use._replace(others=["another shape"]) for use in uses)
            else:
                found[tensor.buffer] = FloatConstant(
                    label(tensor.name), str(values.dtype), values.astype(np.float32), uses
                )
    return sorted(found.values(), key=lambda one: -one.num_bytes)


def _uses(model: Any, number: int, graph: Any, index: int) -> list[Use]:
    tensor, readers = graph.tensors[index], users(graph, index)
    if tensor.type == TYPE.FLOAT32:
        return [_use(model, number, graph, index)] if readers else []
    unpacked = [one for one in readers if kind(model, one) == OP.DEQUANTIZE]
    uses = [_use(model, number, graph, int(one.outputs[0])) for one in unpacked]
    others = [_name(model, one) for one in readers if kind(model, one) != OP.DEQUANTIZE]
    return [use._replace(others=use.others + others) for use in uses]


def _use(model: Any, number: int, graph: Any, index: int) -> Use:
    readers = users(graph, index)
    lookups = lookups_of(model, graph, index)
    rest = [one for one in readers if not any(one is other for other in lookups)]
    kernels = [one for one in rest if _name(model, one) not in APART]
    others = [_name(model, one) for one in rest if _name(model, one) in APART]
    if index in graph.outputs:
        others.append("an output")
    return Use(number, index, lookups, kernels, others)


def _name(model: Any, operator: Any) -> str:
    return OPERATORS[kind(model, operator)]
