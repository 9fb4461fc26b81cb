"""Inputs of a `.tflite` file that are ids: which they are, and below which number."""

from collections.abc import Iterator
from typing import Any

from kerascompact.runtime.causal_lm import CACHE, POSITION
from kerascompact.tflite.constants import constants
from kerascompact.tflite.graph_edits import OP, TYPE, dims_of, kind, users
from kerascompact.tflite.metadata import metadata_of

SAME_NUMBERS = (OP.CAST, OP.RESHAPE, OP.SQUEEZE, OP.EXPAND_DIMS)
SELECTS = (OP.SELECT, OP.SELECT_V2)
COMPARED = (OP.NOT_EQUAL, OP.EQUAL, OP.GREATER, OP.LESS, OP.SHAPE)  # read ids, and look up nothing


def input_names(model: Any, graph: int) -> dict[int, str]:
    """Name of each input of a graph, by its tensor: in the signature if there is one."""
    own = model.subgraphs[graph]
    names = {int(n): own.tensors[n].name for n in own.inputs}
    signatures = [one for one in model.signatureDefs or [] if one.subgraphIndex == graph]
    for signature in signatures[:1]:
        known = {one.tensorIndex: one.name for one in signature.inputs or []}
        names |= {n: known[n] for n in names if known.get(n)}
    return {n: (name or b"").decode("utf-8", "replace") for n, name in names.items()}


def position_bounds(model: Any, graph: int) -> dict[int, int]:
    """Places in the cache of a file of `export.convert_causal_lm`, by its input of a position."""
    names = input_names(model, graph)
    shapes = {name: dims_of(model.subgraphs[graph].tensors[n]) for n, name in names.items()}
    cache = shapes.get(CACHE.format(0), [])
    if metadata_of(model) is None or len(cache) < 4 or cache[-3] < 1:
        return {}
    return {n: cache[-3] for n, name in names.items() if name == POSITION}


def are_float_ids(model: Any, graph: Any, index: int) -> bool:
    """Whether a float tensor becomes the ids of a lookup, as in files of Keras 2."""
    if graph.tensors[index].type != TYPE.FLOAT32:
        return False
    return any(_looked_up(graph, *read) is not None for read in _readers(model, graph, index))


def id_bound(model: Any, metadata: dict[str, Any], graph: Any, index: int) -> int:
    """Ids of an input: rows of the table that it looks up, or of the smallest, if others read it.

    Of a file of ours, a table counts if the metadata name its size: of others, as of lists one
    behind another, rows are no ids.
    """
    own = [rows for form in metadata.get("embeddings", []) if (rows := form["input_dim"])]
    found = set()
    for which, one, tensor in _readers(model, graph, index):
        if which not in COMPARED:
            found.add(_looked_up(graph, which, one, tensor))
    sizes = [rows for rows in found if rows is not None]
    if len(sizes) == len(found) > 0 and (not own or set(sizes) <= set(own)):
        return max(1, min(sizes))
    others = [constant.num_rows for constant in constants(model) if constant.is_table]
    return max(1, min(own or others, default=2))


def _readers(model: Any, graph: Any, index: int) -> Iterator[tuple[Any, Any, int]]:
    """Operators that read the numbers of a tensor, in whatever shape, each with its kind and the
    tensor that it reads them from."""
    reached, found = [index], {index}
    while reached:
        tensor = reached.pop()
        for one in users(graph, tensor):
            which = kind(model, one)
            if which == OP.ADD and _is_for_negative(model, graph, one, tensor):
                continue
            chosen = which in SELECTS and tensor != one.inputs[0]
            if not chosen and (which not in SAME_NUMBERS or one.inputs[0] != tensor):
                yield which, one, tensor
            elif int(one.outputs[0]) not in found:
                reached.append(int(one.outputs[0]))
                found.add(int(one.outputs[0]))


def _is_for_negative(model: Any, graph: Any, add: Any, tensor: int) -> bool:
    """Whether a sum is for ids below 0 alone, in Keras' `where(ids < 0, ids + V, ids)`."""
    after = users(graph, int(add.outputs[0]))
    return bool(after) and all(
        kind(model, one) in SELECTS and one.inputs[2] == tensor for one in after
    )


def _looked_up(graph: Any, which: Any, one: Any, tensor: int) -> int | None:
    """Number of rows that an operator looks up by a tensor of ids; `None` if it does not."""
    if which == OP.GATHER and one.inputs[1] == tensor:
        rows = one.inputs[0]
    elif which == OP.EMBEDDING_LOOKUP and one.inputs[0] == tensor:
        rows = one.inputs[1]
    else:
        return None
    shape = dims_of(graph.tensors[rows])
    axis = getattr(one.builtinOptions, "axis", 0) or 0
    return int(shape[axis]) if shape and shape[axis] > 0 else None
