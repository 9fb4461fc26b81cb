"""Diagnosis of a `.tflite` file of any exporter: what makes it larger than it need be."""

import copy
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.core.quantize import quantize_columns
from kerascompact.core.storage import code_bits
from kerascompact.tflite import flatbuffer, tensor_names
from kerascompact.tflite.associated_files import archive_bytes
from kerascompact.tflite.constants import Constant, constants, packed_bytes, read_outside
from kerascompact.tools.diagnosis import Diagnosis, Finding
from kerascompact.tools.smaller import LARGEST

# Bytes that the operators of another way of storing need, measured on files of a `DenseForm` and a
# `CodebookForm` of equal sizes and rounded up.
UNPACK_GRAPH = 1600  # operators that read codes of any number of bits from a stream
CODES_GRAPH = 800  # a gather of 8-bit codes and one of codebooks
SCALE_GRAPH = 300  # a cast and a product with scales
UNEVEN = 3  # steps of the largest number: the mean error of a row, relative to its length
WORTH_SAYING = 64  # savings of fewer bytes are not reported

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = {"float32": 4, "float16": 2}


def diagnose(file: bytes | str | Path) -> Diagnosis:
    """Finds what makes a file larger than it need be, and the bytes that each change would save.

    Looks for Flex and custom operators; constants that are stored twice or never read; integers
    stored in more bits than their values need; float tables and weights that could be int8, int4 or
    codes; one scale per row where one per column would do; float16 and int8 tables that the runtime
    dequantizes completely; tensors that outlive a run; and what no runtime reads. Savings are
    computed from the values in the file. The sum counts only the first way of each finding, which
    loses nothing or at most what rounding to 8 bits loses.

    Args:
        file: Path or bytes of any `.tflite` file.

    Returns: The findings, the largest saving first; printing them gives a report.

    Raises: ValueError, if it is not a TFLite file, or is truncated or damaged.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> layers = [keras.Input((4,), dtype="int32"), ClusterEmbedding(900, 16, 50)]
    >>> model = keras.Sequential(layers)
    >>> diagnose(kerascompact.export.convert(model, "int8")).findings
    []
    >>> diagnose(kerascompact.export.convert(model, "float32")).findings[0].how
    'as int8 with a scale for each column'
    """
    data, model = flatbuffer.read(file)
    read_outside(model, data)
    names = Counter(flatbuffer.operator_names(model))
    needs = sorted(name.removeprefix("CUSTOM:") for name in names if name.startswith("CUSTOM:"))
    unread = _unread_buffers(model)
    findings = [*_twice(model, unread), *_unread(model, unread)]
    findings += _graph(model, len(data) - archive_bytes(data))
    seen: set[bytes] = set()
    for constant in constants(model):
        digest = hashlib.sha256(constant.data.tobytes()).digest()
        if digest not in seen:  # duplicates are reported already
            findings.extend(_of_constant(constant))
        seen.add(digest)
    findings = [f for f in findings if f.saved >= WORTH_SAYING or f.memory >= WORTH_SAYING]
    states = sum(bool(tensor.isVariable) for graph in model.subgraphs for tensor in graph.tensors)
    return Diagnosis(len(data), needs, sorted(findings, key=lambda found: -found.saved), states)


def _of_constant(constant: Constant) -> Iterator[Finding]:
    if constant.dtype in FLOATS:
        yield from _float(constant)
    elif constant.dtype in INTEGERS and not constant.scales:
        yield from _integers(constant)
    if constant.scales:
        yield from _quantized(constant)


def _twice(model: Any, unread: dict[int, bytes]) -> Iterator[Finding]:
    """Finds equal buffers: any number of tensors can share one. Unread ones are dropped anyway."""
    places: dict[bytes, list[int]] = {}
    for number, data in _buffers(model).items():
        if number not in unread:
            places.setdefault(data, []).append(number)
    small = 0
    for data, numbers in places.items():
        saved = len(data) * (len(numbers) - 1)
        if saved >= WORTH_SAYING:
            what = f"the same {len(data):,} bytes in {len(numbers)} buffers"
            yield Finding("duplicate", _owner(model, numbers), what, "shared by its tensors", saved)
        else:
            small += saved
    what = "the same bytes in several buffers"
    yield Finding("duplicate", "small constants", what, "shared by their tensors", small)


def _unread_buffers(model: Any) -> dict[int, bytes]:
    """Constants that no operator reads, by the numbers of their buffers."""
    read = {entry.buffer for entry in model.metadata or []}
    for graph in model.subgraphs:
        used = {int(index) for operator in graph.operators for index in operator.inputs}
        used |= {int(index) for index in (*graph.outputs, *graph.inputs)}
        used |= {index for tensor in graph.tensors for index in _block_tensors(tensor)}
        read |= {graph.tensors[index].buffer for index in used if index >= 0}
    return {number: data for number, data in _buffers(model).items() if number not in read}


def _unread(model: Any, unread: dict[int, bytes]) -> Iterator[Finding]:
    saved = sum(len(data) for data in unread.values())
    what = f"{len(unread)} buffers that no operator reads"
    yield Finding("unread", _owner(model, unread), what, "dropped", saved)


def _block_tensors(tensor: Any) -> tuple[int, ...]:
    """Indices of the tensors with the scales and zero points of a block-quantized tensor."""
    details = None if tensor.quantization is None else tensor.quantization.details
    return (
        tuple(vars(details).get(name, -1) for name in ("scales", "zeroPoints")) if details else ()
    )


def _graph(model: Any, size: int) -> Iterator[Finding]:
    """Finds what our own writer would save, apart from the constants that it shares or drops."""
    if any(buffer.offset > 1 for buffer in model.buffers):  # files over 2 GB
        return
    before = sum(len(buffer.data) for buffer in model.buffers if buffer.data is not None)
    slim = copy.copy(model)
    slim.buffers = [*model.buffers]
    slim = copy.deepcopy(slim, {id(b.data): b.data for b in model.buffers if b.data is not None})
    flatbuffer.slim(slim)
    after = sum(len(buffer.data) for buffer in slim.buffers if buffer.data is not None)
    saved = (size - before) - (len(tensor_names.pack(slim)) - after)
    what = "names of inner tensors, empty buffers, shapes and options written more than once"
    yield Finding("graph", "what is not constants", what, "as kerascompact.export writes it", saved)


def _integers(constant: Constant) -> Iterator[Finding]:
    """Finds ids, codes and indices with spare bits; a range from above 0 costs one addition."""
    values = constant.values()
    if values is None or values.size < 2:
        return
    low, high = int(values.min()), int(values.max())
    bits = code_bits(high - low + 1)
    if bits == 0:
        saved = constant.num_bytes - values.itemsize
        yield Finding("integers", str(constant), f"all {low}", "as one number", saved)
        return
    packed = packed_bytes(values.size, bits)
    saved = constant.num_bytes - packed - UNPACK_GRAPH
    what = f"{values.size:,} numbers in [{low}, {high}], stored in {8 * values.itemsize} bits each"
    how = f"as a stream of {bits} bits each, less {UNPACK_GRAPH:,} bytes of graph that reads it"
    others: tuple[tuple[str, int], ...] = ()
    if saved < WORTH_SAYING and (plain := _plain(low, high, values)):
        how, saved = f"as {plain[0]}", plain[1]
    elif plain := _plain(low, high, values):
        others = ((f"as {plain[0]}, which needs only a cast", plain[1]),)
    yield Finding("integers", str(constant), what, how, saved, others)


def _plain(low: int, high: int, values: np.ndarray) -> tuple[str, int] | None:
    """The narrowest type that TFLite can gather and cast, and what it saves."""
    for name in ("int8", "uint8", "int16", "int32"):
        limits = np.iinfo(name)
        if limits.min <= low and high <= limits.max and limits.bits < 8 * values.itemsize:
            saved = values.nbytes - values.size * limits.bits // 8 - SCALE_GRAPH
            return (name, saved) if saved >= WORTH_SAYING else None
    return None


def _float(constant: Constant) -> Iterator[Finding]:
    item, count, width = FLOATS[constant.dtype], constant.size, constant.width
    values, dequantized = constant.values(), _is_dequantized(constant)
    memory = 4 * count if dequantized else 0
    if len(constant.shape) < 2 and not constant.is_table or values is None:
        return
    if not np.abs(values).max(initial=0) < LARGEST:  # `shrink` leaves these, too
        return
    if not constant.is_table:
        channels = constant.shape[-1 if "DEPTHWISE_CONV_2D" in dict(constant.readers) else 0]
        if len(constant.shape) == 2:
            channels = min(constant.shape)
        saved = (item - 1) * count - 12 * channels
        how = "as int8 with a scale for each output channel, which costs 12 bytes"
        if saved >= WORTH_SAYING:
            what = f"{count:,} weights as {constant.dtype}"
            yield Finding("float weights", str(constant), what, how, saved, memory=memory)
        return
    rows, scales = constant.num_rows, 4 * width + SCALE_GRAPH
    ways = {"as int8 with a scale for each column": constant.num_bytes - count - scales}
    table = values.reshape(rows, width)
    unique = len({row.tobytes() for row in table})
    if unique < rows:
        bits = code_bits(unique)
        stored = unique * width * item + packed_bytes(rows, bits) + UNPACK_GRAPH
        how = f"without loss, as its {unique:,} distinct rows and {bits} bits for each word"
        ways[how] = constant.num_bytes - stored
    if width > 1:  # rows are whole bytes
        halves = rows * -(-width // 2)
        ways["as int4 with a scale for each column"] = constant.num_bytes - halves - scales
    parts, book = -(-width // 4), min(256, rows)
    stored = rows * parts + book * width + scales + CODES_GRAPH
    how = f"as {parts} codes of 8 bits for each word, with int8 codebooks (to be fitted)"
    ways[how] = constant.num_bytes - stored
    ways = {how: saved for how, saved in ways.items() if saved >= WORTH_SAYING}
    safe = [how for how in ways if "int8 with" in how or "without loss" in how]
    if not safe and not memory:
        return
    best = max(safe, key=ways.__getitem__, default="as it is, read row by row")
    more = [(how, saved) for how, saved in ways.items() if saved > ways.get(best, 0)]
    others = tuple(sorted(more, key=lambda way: way[1]))
    what = f"a table of {rows:,} rows of {width} as {constant.dtype}"
    yield Finding("float table", str(constant), what, best, ways.get(best, 0), others, memory)


def _is_dequantized(constant: Constant) -> bool:
    """Whether the runtime keeps a float32 copy of all numbers."""
    return any(name == "DEQUANTIZE" for name, _ in constant.readers)


def _quantized(constant: Constant) -> Iterator[Finding]:
    values, width = constant.values(), constant.width
    memory = 4 * constant.size if _is_dequantized(constant) else 0
    if constant.is_table and constant.scales > 1 and constant.axis == 0 and _even(constant):
        saved = 12 * constant.scales - 4 * width - SCALE_GRAPH
        what = f"a scale and a zero point for each of {constant.scales:,} rows, 12 bytes each"
        how = "a scale for each column instead"
        yield Finding("scales", str(constant), what, how, saved)
    if values is None or not values.size:
        return
    fits = constant.dtype == "int8" and -8 <= values.min() <= values.max() <= 7
    if fits and not (constant.is_table and width == 1):
        what = f"{constant.size:,} numbers in [{values.min()}, {values.max()}] as int8"
        rows = constant.num_rows if constant.is_table else 1  # a table's are whole bytes
        saved = constant.num_bytes - rows * -(-constant.size // rows // 2)
        yield Finding("integers", str(constant), what, "as int4", saved, memory=memory)
    elif memory and constant.is_table:
        what = "a table that is dequantized before its rows are looked up"
        yield Finding("memory", str(constant), what, "looked up first", 0, memory=memory)


def _even(constant: Constant) -> bool:
    """Whether a scale for each column loses no more than rounding does, in a table of such rows.

    So it is if the rows are about equally long; short ones would lose all of their bits.
    """
    bits, codes = 4 if constant.dtype == "int4" else 8, constant.values()
    if codes is None or constant.scale is None:
        return False
    numbers = codes.reshape(constant.num_rows, -1) * constant.scale[:, None]
    codes, scale = quantize_columns(numbers, bits)
    lengths, errors = (np.linalg.norm(rows, axis=1) for rows in (numbers, codes * scale - numbers))
    return float(np.mean(errors / np.where(lengths > 0, lengths, 1))) <= UNEVEN / (2**bits - 1)


def _buffers(model: Any) -> dict[int, bytes]:
    """The buffers of constants by their numbers."""
    metadata = {entry.buffer for entry in model.metadata or []}
    return {
        number: np.asarray(buffer.data, np.uint8).tobytes()
        for number, buffer in enumerate(model.buffers)
        if number not in metadata and buffer.data is not None and len(buffer.data)
    }


def _owner(model: Any, numbers: Any) -> str:
    """Names of the tensors that use these buffers."""
    tensors = [t for graph in model.subgraphs for t in graph.tensors if t.buffer in numbers]
    names = [(t.name or b"").decode("utf-8", "replace") for t in tensors]
    return ", ".join(dict.fromkeys(filter(None, names))) or "tensors without a name"
