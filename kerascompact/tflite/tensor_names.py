"""Tensor names of a file: those of the converter, short numbers, or none."""

from collections.abc import Iterator
from typing import Any

from kerascompact.core import checks
from kerascompact.tflite import flatbuffer, smallest

NAMED_FROM = 64 * 1024  # smaller files, in bytes, get numbers as names


def pack(model: Any, names: bool | None = None) -> bytes:
    """Writes a model into the bytes of a file, with the tensor names that are wanted.

    The runtime only reads the names in signatures. litert-quantizer finds tensors by name, so every
    tensor needs a name that is unique in the file; Model Explorer shows the names.

    Args:
        model: `ModelT` of the schema after `flatbuffer.slim`, with the names of the converter. The
            names are replaced in place.
        names: `True` keeps the names of the converter, which contain the layer's name. `False`
            keeps only the names of inputs and outputs, and leaves out what a runtime fills in
            itself, see `smallest`. `None` keeps the converter's names if the
            file has at least 64 KiB; a smaller file gets numbers, the shortest names that tools
            accept.

    Returns: The bytes of the file.

    Raises: ValueError, if `names` is none of these.
    """
    check(names)
    tensors = [list(graph.tensors) for graph in model.subgraphs]
    if names is False:
        for _, tensor in _inner(model):
            tensor.name = None
        smallest.leave_out(model)
        return flatbuffer.pack(model)
    wanted = [*_wanted(model)]
    constants = sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None)
    if names is None and constants < NAMED_FROM:
        _rename(model, [])
        data = flatbuffer.pack(model)
        if len(data) < NAMED_FROM:
            return data
        for graph, own in zip(model.subgraphs, tensors, strict=True):
            graph.tensors = own  # `flatbuffer.pack` replaced them
    _rename(model, wanted)
    return flatbuffer.pack(model)


def check(names: Any) -> None:
    """Raises a `ValueError` if `names` is not `True`, `False` or `None`.

    >>> check("layers")
    Traceback (most recent call last):
        ...
    ValueError: `names` must be True, False or None. Received: names='layers' (of type str).
    """
    if names is not None and not isinstance(names, bool):
        checks.fail("names", "True, False or None", names)


def label(name: bytes | None) -> str:
    """A tensor's name for display; a name that is only a number says nothing and is left out.

    >>> label(b"embedding/table"), label(b"17"), label(None)
    ('embedding/table', '', '')
    """
    shown = (name or b"").decode("utf-8", "replace")
    return "" if shown.isdigit() else shown


def _ports(model: Any) -> set[tuple[int, int]]:
    """Inputs and outputs of the file, as pairs (graph index, tensor index)."""
    graphs = {0, *(signature.subgraphIndex for signature in model.signatureDefs or [])}
    return {
        (number, int(index))
        for number in graphs
        for ports in (model.subgraphs[number].inputs, model.subgraphs[number].outputs)
        for index in ports
    }


def _inner(model: Any) -> Iterator[tuple[tuple[int, int], Any]]:
    """Tensors that are neither inputs nor outputs, each with its (graph index, tensor index)."""
    ports = _ports(model)
    for number, graph in enumerate(model.subgraphs):
        for index, tensor in enumerate(graph.tensors):
            if (number, index) not in ports:
                yield (number, index), tensor


def _wanted(model: Any) -> Iterator[bytes]:
    """A name for each inner tensor; an unnamed one takes a name from its operator."""
    near: dict[tuple[int, int], bytes] = {}
    for number, graph in enumerate(model.subgraphs):
        for operator in graph.operators:
            around = [int(index) for index in (*operator.outputs, *operator.inputs) if index >= 0]
            known = [graph.tensors[index].name for index in around if graph.tensors[index].name]
            if known:
                near |= {(number, index): known[0] for index in around}
    for place, tensor in _inner(model):
        yield tensor.name or near.get(place, b"tensor")


def _rename(model: Any, wanted: list[bytes]) -> None:
    """Gives each tensor a unique name: the wanted one, with a number behind it if it is taken.

    Args:
        model: `ModelT` of the schema, changed in place.
        wanted: Names of the inner tensors; if empty, they get numbers.
    """
    taken: set[bytes] = set()
    for number, index in sorted(_ports(model)):
        tensor = model.subgraphs[number].tensors[index]
        tensor.name = _free(tensor.name or b"port", taken)
    number = 0
    for place, (_, tensor) in enumerate(_inner(model)):
        if wanted:
            tensor.name = _free(wanted[place], taken)
            continue
        while (name := b"%d" % number) in taken:
            number += 1
        taken.add(name)
        tensor.name = name


def _free(name: bytes, taken: set[bytes]) -> bytes:
    count, free = 1, name
    while free in taken:
        free = b"%s:%d" % (name, count)
        count += 1
    taken.add(free)
    return free
