"""Files whose structure is damaged: well-formed flatbuffers that say what cannot be."""

import copy
from collections.abc import Callable, Iterator
from struct import error
from typing import Any

import numpy as np

from benchmarks.product.metadata_damage import NUMBERS, metadata, pick
from kerascompact.tflite import flatbuffer
from kerascompact.tflite.layout import schema

REALS = (0.0, -1.0, 1e-38, 3e38, np.inf, -np.inf, np.nan)
_OPTIONS = [name for name in vars(schema) if name.endswith("OptionsT")]
# Of values that no file can hold, or damage to JSON that is none: other damage is drawn then.
_UNWRITABLE = (error, TypeError, ValueError, AttributeError, OverflowError, RecursionError)


def _graph(model: Any, random: np.random.Generator) -> Any:
    return pick(random, model.subgraphs)


def _reorder(entries: list[Any], random: np.random.Generator) -> None:
    """Drops, doubles or swaps an entry."""
    if not entries:
        return
    first, second = (int(index) for index in random.integers(len(entries), size=2))
    kind = int(random.integers(3))
    if kind == 0:
        del entries[first]
    elif kind == 1:
        entries.insert(first, copy.deepcopy(entries[second]))
    else:
        entries[first], entries[second] = entries[second], entries[first]


def tensors(model: Any, random: np.random.Generator) -> None:
    """A tensor dropped, doubled or swapped with another."""
    _reorder(_graph(model, random).tensors, random)


def operators(model: Any, random: np.random.Generator) -> None:
    """An operator dropped, doubled or swapped with another."""
    _reorder(_graph(model, random).operators, random)


def buffers(model: Any, random: np.random.Generator) -> None:
    """A buffer dropped, doubled or swapped with another; or one that is shorter or longer."""
    filled = [buffer for buffer in model.buffers if buffer.data is not None]
    if not filled or random.random() < 0.5:
        _reorder(model.buffers, random)
        return
    buffer = pick(random, filled)
    size = int(random.integers(2 * len(buffer.data) + 1))
    buffer.data = np.resize(np.asarray(buffer.data, np.uint8), size)


def graphs(model: Any, random: np.random.Generator) -> None:
    """A graph dropped, doubled or swapped with another."""
    _reorder(model.subgraphs, random)


def signatures(model: Any, random: np.random.Generator) -> None:
    """A signature dropped or doubled, of another graph, with another tensor or without a name."""
    found = list(model.signatureDefs or [])
    kind = int(random.integers(4))
    if kind == 0 or not found:
        _reorder(found, random)
        model.signatureDefs = found
        return
    signature = pick(random, found)
    ports = [*(signature.inputs or []), *(signature.outputs or [])]
    if kind == 1 or not ports:
        signature.subgraphIndex = max(0, int(pick(random, NUMBERS[:-1])))
    elif kind == 2:
        pick(random, ports).tensorIndex = max(0, int(pick(random, NUMBERS[:-1])))
    else:
        _reorder(pick(random, (signature.inputs, signature.outputs)), random)


def shapes(model: Any, random: np.random.Generator) -> None:
    """A dimension that is negative, none or huge; one more, or one less."""
    tensor = pick(random, _graph(model, random).tensors)
    field = pick(random, ("shape", "shape", "shapeSignature"))
    given = getattr(tensor, field)
    sizes = [] if given is None else [int(size) for size in given]
    kind = int(random.integers(3))
    place = int(random.integers(len(sizes) + 1))
    if kind == 0 and place < len(sizes):
        sizes[place] = int(pick(random, NUMBERS[:-1]))
    elif kind == 1 and sizes:
        sizes.pop()
    else:
        sizes.insert(place, int(pick(random, (0, 1, 1, 2, -1))))
    setattr(tensor, field, np.array(sizes, np.int32))


def indices(model: Any, random: np.random.Generator) -> None:
    """An operator or a graph that reads or writes another tensor, one more or one less."""
    graph = _graph(model, random)
    owner = pick(random, [graph, *graph.operators, *graph.operators])
    field = pick(random, ("inputs", "inputs", "outputs"))
    found = [int(index) for index in getattr(owner, field)]
    kind = int(random.integers(4))
    other = int(random.integers(-1, len(graph.tensors) + 1))
    if kind == 0 and found:
        found[int(random.integers(len(found)))] = int(pick(random, NUMBERS[:-1]))
    elif kind == 1 and found:
        found[int(random.integers(len(found)))] = other
    elif kind == 2 and found:
        found.pop()
    else:
        found.append(other)
    setattr(owner, field, np.array(found, np.int32))


def types(model: Any, random: np.random.Generator) -> None:
    """A tensor of another type, or one that is a variable."""
    tensor = pick(random, _graph(model, random).tensors)
    if random.random() < 0.2:
        tensor.isVariable = not tensor.isVariable
    else:
        tensor.type = int(random.integers(-1, 25))


def codes(model: Any, random: np.random.Generator) -> None:
    """An operator of another kind, or a kind of operator that is another."""
    if random.random() < 0.3:
        pick(random, pick(random, model.subgraphs).operators).opcodeIndex = int(
            random.integers(len(model.operatorCodes) + 2)
        )
        return
    code = pick(random, model.operatorCodes)
    number = int(random.integers(-1, 215))
    code.builtinCode, code.deprecatedBuiltinCode = number, min(number, 127)
    code.customCode = b"Flex" if random.random() < 0.1 else None


def options(model: Any, random: np.random.Generator) -> None:
    """Settings of another operator, none, or with a number that is none."""
    operator = pick(random, _graph(model, random).operators)
    kind, found = int(random.integers(3)), operator.builtinOptions
    if kind == 0:
        operator.builtinOptions, operator.builtinOptionsType = None, 0
    elif kind == 1 or found is None:
        name = pick(random, _OPTIONS)
        number = getattr(schema.BuiltinOptions, name[:-1], 0)
        operator.builtinOptionsType = number
        operator.builtinOptions = getattr(schema, name)() if number else None
    else:
        _set_field(found, random)


def calls(model: Any, random: np.random.Generator) -> None:
    """An operator that calls another graph, or its own."""
    for operator in _graph(model, random).operators:
        for field in [] if operator.builtinOptions is None else vars(operator.builtinOptions):
            if "subgraphindex" in field.lower():
                number = int(random.integers(-1, len(model.subgraphs) + 1))
                setattr(operator.builtinOptions, field, number)


def quantization(model: Any, random: np.random.Generator) -> None:
    """Scales that are none, too many, or along another axis; scales of blocks; sparse tensors."""
    graph = _graph(model, random)
    tensor = pick(random, graph.tensors)
    found = tensor.quantization or schema.QuantizationParametersT()
    tensor.quantization = found
    kind, size = int(random.integers(6)), int(random.integers(1, 5))
    if kind == 0:
        found.scale = np.full(size, pick(random, REALS), np.float32)
        found.zeroPoint = np.zeros(size, np.int64)
    elif kind == 1:
        found.zeroPoint = np.full(size, pick(random, NUMBERS), np.int64)
    elif kind == 2:
        found.quantizedDimension = int(pick(random, NUMBERS[:-1]))
    elif kind == 3:
        found.detailsType = schema.QuantizationDetails.BlockwiseQuantization
        found.details = schema.BlockwiseQuantizationT()
        found.details.scales = int(random.integers(-1, len(graph.tensors) + 1))
        found.details.blockSize = int(pick(random, NUMBERS[:-1]))
    elif kind == 4:
        tensor.sparsity = schema.SparsityParametersT()
        tensor.sparsity.traversalOrder = np.arange(size, dtype=np.int32)
        tensor.sparsity.dimMetadata = [schema.DimensionMetadataT() for _ in range(size)]
    else:
        _set_field(found, random)


def fields(model: Any, random: np.random.Generator) -> None:
    """Any number of any table, or a vector that is left out, shortened or turned round."""
    target = model
    while True:
        inner = [value for value in vars(target).values() if hasattr(value, "__dict__")]
        lists = [value for value in vars(target).values() if isinstance(value, list) and value]
        inner += [one for value in lists for one in value if hasattr(one, "__dict__")]
        if not inner or random.random() < 0.15:
            break
        target = pick(random, inner)
    _set_field(target, random)


def _set_field(target: Any, random: np.random.Generator) -> None:
    field = pick(random, [*vars(target)])
    value = getattr(target, field)
    kind = int(random.integers(4))
    if isinstance(value, bool):
        setattr(target, field, not value)
    elif isinstance(value, float):
        setattr(target, field, float(pick(random, REALS)))
    elif isinstance(value, int | np.integer):
        setattr(target, field, int(pick(random, NUMBERS)))
    elif value is None or kind == 0:
        setattr(target, field, None)
    elif isinstance(value, bytes | list | np.ndarray) and len(value):
        setattr(target, field, value[::-1] if kind == 1 else value[: len(value) // kind])


KINDS: tuple[Callable[[Any, np.random.Generator], None], ...] = (
    tensors, operators, buffers, graphs, signatures, shapes, indices, types, codes, options, calls,
    quantization, metadata, fields, fields,
)  # fmt: skip


def restructured(data: bytes, count: int, seed: int = 0) -> Iterator[tuple[str, bytes]]:
    """Files with a damaged structure, each with the name of the damage.

    One in four is damaged twice. All are well-formed flatbuffers, with the checksum of kerascompact
    as it should be.

    Args:
        data: A sound file, as `flatbuffer.pack` writes it.
        count: How many copies.
        seed: Seed of the damage.
    """
    random, sound = np.random.default_rng(seed), flatbuffer.parse(data)
    made = tried = 0
    while made < count:
        kind, model = KINDS[tried % len(KINDS)], copy.deepcopy(sound)
        tried += 1
        try:
            kind(model, random)
            if random.random() < 0.25:
                pick(random, KINDS)(model, random)
            copied = flatbuffer.pack(model)
        except _UNWRITABLE:
            continue
        if copied != data:
            made += 1
            yield kind.__name__, copied
