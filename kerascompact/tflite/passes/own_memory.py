"""Pass that keeps the runtime from writing over a tensor that is read again."""

import copy
from collections import Counter
from typing import Any

import numpy as np

from kerascompact.tflite.graph_edits import OP, dims_of, kind, users

# The kernels that may write their output over an input, and those that give an input another shape
# without copying it, by the flags of their registrations; ADD to SOFTMAX were seen to do so in
# LiteRT 2.3, without delegate.
IN_PLACE = (OP.ADD, OP.SUB, OP.MUL, OP.DIV, OP.SOFTMAX, OP.DYNAMIC_UPDATE_SLICE)
ALIASES = (OP.RESHAPE, OP.EXPAND_DIMS, OP.SQUEEZE, OP.BITCAST)


def give_own_memory(model: Any) -> None:
    """Repeats operators whose results the runtime's built-in kernels would write over too early.

    An operator of `IN_PLACE` writes over an input that nothing else reads. Of `m = c * s`,
    `r = reshape(m)`, `a = r + x` and `f(a, m)` the product is written over `c`, `r` is `m`, and the
    sum is written over `r`, though `m` is read again: the runtime counts the readers of `r` and of
    `c`, not those of `m`. Rows of a table in integers, `cast(...) * scale`, are such products.
    With a product of its own for `r`, `c` has two readers, and nothing is written over it. XNNPACK
    has memory of its own, and is right either way.

    Args:
        model: Parsed model, changed in place.
    """
    for graph in model.subgraphs:
        while (found := _Memory(model, graph).endangered()) is not None:
            _repeat(graph, *found)


class _Memory:
    """What of a graph may lie in the same memory, by the rules of the runtime's planner."""

    def __init__(self, model: Any, graph: Any) -> None:
        self.model, self.graph = model, graph
        self.writers = {int(one.outputs[0]): one for one in graph.operators if len(one.outputs)}
        self.places = {id(one): place for place, one in enumerate(graph.operators)}
        read = [*graph.inputs, *graph.outputs, *(i for one in graph.operators for i in one.inputs)]
        self.readers = Counter(map(int, read))  # as the runtime counts them

    def endangered(self) -> tuple[Any, Any] | None:
        """The operator that writes a tensor in danger, and the one that reads it in another shape;
        None if there is none."""
        for over in self.graph.operators:
            for index in self.written_over(over):
                reader = self.writers.get(index)
                while reader is not None and self.is_alias(reader):
                    tensor = int(reader.inputs[0])
                    writer = self.writers.get(tensor)
                    if self.readers[tensor] > 1:
                        may_share = writer is not None and (
                            self.is_alias(writer) or bool(self.written_over(writer))
                        )
                        if may_share and self.is_kept(tensor, self.places[id(over)], reader):
                            return writer, reader
                        break
                    reader = writer
        return None

    def is_alias(self, operator: Any) -> bool:
        """Whether an operator gives its input another shape without copying it."""
        return kind(self.model, operator) in ALIASES

    def written_over(self, operator: Any) -> list[int]:
        """Inputs that an operator may write over: read once, perhaps of the output's size."""
        if kind(self.model, operator) not in IN_PLACE:
            return []
        first = [int(index) for index in operator.inputs[:2] if index >= 0]
        output = int(operator.outputs[0])
        return [i for i in first if self.readers[i] == 1 and self.may_fit(i, output)]

    def may_fit(self, one: int, other: int) -> bool:
        """Whether two tensors may have the same size."""
        sizes = [dims_of(self.graph.tensors[index]) for index in (one, other)]
        return any(-1 in dims for dims in sizes) or np.prod(sizes[0]) == np.prod(sizes[1])

    def is_kept(self, tensor: int, after: int, but: Any = None) -> bool:
        """Whether anything but `but` reads the memory of a tensor after an operator's place."""
        return tensor in self.graph.outputs or any(
            self.places[id(one)] > after
            or (self.is_alias(one) and self.is_kept(int(one.outputs[0]), after))
            for one in users(self.graph, tensor)
            if one is not but
        )


def _repeat(graph: Any, writer: Any, reader: Any) -> None:
    """Writes a tensor a second time, for one of its readers."""
    tensor, again = int(reader.inputs[0]), copy.copy(writer)
    graph.tensors.append(copy.copy(graph.tensors[tensor]))
    again.outputs = np.array([len(graph.tensors) - 1], np.int32)
    reader.inputs = np.array([again.outputs[0], *reader.inputs[1:]], np.int32)
    place = next(n for n, one in enumerate(graph.operators) if one is writer)
    graph.operators.insert(place + 1, again)
