"""Pass that multiplies vectors by all rows of a row-scaled table in one operator."""

from typing import Any

import numpy as np

from kerascompact.tflite.graph_edits import (
    OP,
    TYPE,
    become,
    constant,
    dims_of,
    drop_unused,
    kind,
    users,
)

VERSION = 12  # the version of FULLY_CONNECTED that has a scale for each output
TABLES = {TYPE.INT8, TYPE.INT4}


def multiply_by_integers(model: Any) -> None:
    """Replaces lookups of all rows of a quantized table, and their products, by `FULLY_CONNECTED`.

    The scores of all words are written as products with pieces of the table, each looked up as
    float32. `FULLY_CONNECTED` reads the table itself, with its integers and the scale of each row:
    it rounds its inputs to int8 in each run and multiplies integers, so scores differ by some
    0.5 % of the largest. A table of 262,144 x 640 in 4 bits takes 12 ms on one core of x86-64, and
    no memory for unpacked rows. The lookups of single words read the same table.

    Args:
        model: Parsed model after `use_embedding_lookup`, changed in place.
    """
    for graph in model.subgraphs:
        makers = {int(o): operator for operator in graph.operators for o in operator.outputs}
        done = False
        for operator in list(graph.operators):
            products = _products(model, graph, makers, operator)
            factors = {_factors(model, graph, makers, one) for one in products}
            found = factors.pop() if len(factors) == 1 else None
            if found is None:
                continue
            hidden, table = found
            ids = [_ids(model, graph, makers, one) for one in products]
            known = [one for one in ids if one is not None]
            every = np.arange(int(graph.tensors[table].shape[0]))
            if len(known) < len(ids) or not np.array_equal(np.concatenate(known), every):
                continue
            first = products[0]
            options = first.builtinOptionsType, first.builtinOptions
            operator.inputs = np.array([hidden, table, -1], np.int32)
            become(model, operator, OP.FULLY_CONNECTED, VERSION, *options)
            done = True
        if done:
            drop_unused(graph)


def _products(model: Any, graph: Any, makers: dict[int, Any], operator: Any) -> list[Any]:
    """The products that an operator is, or concatenates; none, if it does something else."""
    if kind(model, operator) == OP.CONCATENATION:
        found = [makers.get(int(index)) for index in operator.inputs]
        # Besides, the next piece waits for a slice of this one, see `vocabulary_chunks`.
        used = [users(graph, int(index)) for index in operator.inputs]
        others = [one for many in used for one in many if one is not operator]
        alone = all(kind(model, one) == OP.STRIDED_SLICE for one in others)
        rank = len(dims_of(graph.tensors[operator.outputs[0]]))
        last = operator.builtinOptions.axis in (-1, rank - 1)
        return found if alone and last and None not in found else []
    return [operator]


def _factors(
    model: Any, graph: Any, makers: dict[int, Any], product: Any
) -> tuple[int, int] | None:
    """The vectors and the table of a product with rows that are looked up; else `None`."""
    if kind(model, product) != OP.FULLY_CONNECTED:
        return None
    if len(product.inputs) > 2 and product.inputs[2] >= 0:
        return None
    lookup = makers.get(int(product.inputs[1]))
    if lookup is None or kind(model, lookup) != OP.EMBEDDING_LOOKUP:
        return None
    table = int(lookup.inputs[1])
    tensor = graph.tensors[table]
    scales = None if tensor.quantization is None else tensor.quantization.scale
    by_row = scales is not None and len(scales) == tensor.shape[0]
    return (int(product.inputs[0]), table) if tensor.type in TABLES and by_row else None


def _ids(model: Any, graph: Any, makers: dict[int, Any], product: Any) -> np.ndarray | None:
    """The ids that a product looks up, if they are the same in every run."""
    lookup = makers[int(product.inputs[1])]
    found = _numbers(model, graph, makers, int(lookup.inputs[0]))
    return None if found is None or found.ndim != 1 else found


def _numbers(model: Any, graph: Any, makers: dict[int, Any], index: int) -> np.ndarray | None:
    """Integers that `id_range` computes from constants and from the zero of `unknown_zero`."""
    tensor = graph.tensors[index]
    known = constant(model, tensor, np.int32) if tensor.type == TYPE.INT32 else None
    if known is not None:
        return known
    maker = makers.get(index)
    if maker is None:
        return None
    which = kind(model, maker)
    if which == OP.CAST:
        return _zero(model, graph, makers, int(maker.inputs[0]))
    first = _numbers(model, graph, makers, int(maker.inputs[0]))
    if first is None:
        return None
    if which == OP.ADD:
        second = _numbers(model, graph, makers, int(maker.inputs[1]))
        return None if second is None else first + second
    if which == OP.RESHAPE:
        return first.reshape(dims_of(tensor))
    if which == OP.STRIDED_SLICE:  # the first ones, or all with one more axis
        return first.reshape(-1)[: int(np.prod(dims_of(tensor)))].reshape(dims_of(tensor))
    return None


def _zero(model: Any, graph: Any, makers: dict[int, Any], index: int) -> np.ndarray | None:
    """0, if a truth value asks whether a largest number is below the smallest."""
    for wanted in (OP.REDUCE_ANY, OP.LESS):
        maker = makers.get(index)
        if maker is None:
            return None
        if kind(model, maker) == wanted:
            index = int(maker.inputs[0])
            if wanted == OP.LESS:
                pair = [makers.get(int(i)) for i in maker.inputs]
                kinds = [None if one is None else kind(model, one) for one in pair]
                return np.zeros((), np.int32) if kinds == [OP.REDUCE_MAX, OP.REDUCE_MIN] else None
        elif wanted == OP.LESS:
            return None
    return None
