"""Constants of a parsed model, with their values and the operators that read them."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from kerascompact.tflite.layout import TYPE_NAMES
from kerascompact.tflite.operators import OPERATORS
from kerascompact.tflite.tensor_names import label

LOOKUPS = ("GATHER", "GATHER_ND", "EMBEDDING_LOOKUP", "EMBEDDING_LOOKUP_SPARSE")


class Constant(NamedTuple):
    """One constant buffer of a file, counted once however many tensors share it.

    Args:
        name: Name of the first tensor that uses the buffer, or "".
        dtype: Type of the numbers, such as "int8".
        shape: Shape of the tensor.
        data: Bytes of the buffer, as uint8.
        scales: How many quantization scales there are; 0 for none.
        axis: Dimension that the scales belong to.
        readers: Name of each operator that reads the buffer, and the number of its input.
        behind: The same for the operators that read the output of a DEQUANTIZE of the buffer.
        scale: The quantization scales, if all zero points are 0.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray
    scales: int
    axis: int
    readers: tuple[tuple[str, int], ...]
    behind: tuple[tuple[str, int], ...]
    scale: np.ndarray | None = None

    @property
    def num_bytes(self) -> int:
        return len(self.data)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def is_table(self) -> bool:
        """Whether an operator looks up rows of it by ids; a sparse lookup has it as last input."""
        return any(
            name in LOOKUPS and place == (4 if name == "EMBEDDING_LOOKUP_SPARSE" else _first(name))
            for name, place in self.readers + self.behind
        )

    @property
    def num_rows(self) -> int:
        return self.shape[0] if self.shape else 1

    @property
    def width(self) -> int:
        return self.size // max(self.num_rows, 1)

    def values(self) -> np.ndarray | None:
        """The numbers as a flat array; `None` if NumPy does not have their type."""
        if self.dtype == "int4":
            low, high = self.data & 15, self.data >> 4
            both = np.stack([low, high], axis=-1).reshape(-1)[: self.size].astype(np.int8)
            return np.where(both > 7, both - 16, both).astype(np.int8)
        try:
            dtype = np.dtype(self.dtype)
        except TypeError:
            return None
        fits = dtype.itemsize * self.size == len(self.data)
        return np.ascontiguousarray(self.data).view(dtype) if fits else None

    def __str__(self) -> str:
        name = f"{self.name} " if self.name else ""
        names = Counter(name for name, _ in self.readers)
        read = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in names.items())
        return f"{name}{self.dtype}{list(self.shape)}, read by {read or 'nobody'}"


def _first(name: str) -> int:
    return 1 if name == "EMBEDDING_LOOKUP" else 0


def read_outside(model: Any, data: bytes) -> None:
    """Reads the constants that lie behind the flatbuffer, as those of files over 2 GB do.

    Args:
        model: `ModelT` of the schema, whose buffers get their bytes.
        data: Bytes of the file.
    """
    for buffer in model.buffers:
        if buffer.offset > 1:
            buffer.data = np.frombuffer(data, np.uint8, buffer.size, buffer.offset)


def constants(model: Any) -> list[Constant]:
    """Lists the constants that an operator or an output of the model reads, largest first.

    Args:
        model: `ModelT` of the schema.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> layers = [keras.Input((4,), dtype="int32"), ClusterEmbedding(900, 16, 50)]
    >>> data = kerascompact.export.convert(keras.Sequential(layers))
    >>> found = constants(kerascompact.tflite.flatbuffer.parse(data))
    >>> str(found[0]), found[0].is_table
    ('int8[50, 16], read by GATHER', True)
    """
    found: dict[int, Constant] = {}
    for graph in model.subgraphs:
        readers = _readers(model, graph)
        for index, tensor in enumerate(graph.tensors):
            data = model.buffers[tensor.buffer].data
            ports = readers.get(index, ())
            if data is None or not len(data) or (not ports and index not in graph.outputs):
                continue
            if tensor.buffer in found:
                known = found[tensor.buffer]
                found[tensor.buffer] = known._replace(readers=known.readers + tuple(ports))
                continue
            found[tensor.buffer] = _constant(model, graph, tensor, tuple(ports), readers)
    return sorted(found.values(), key=lambda constant: -constant.num_bytes)


def _constant(
    model: Any,
    graph: Any,
    tensor: Any,
    ports: tuple[tuple[str, int], ...],
    readers: dict[int, list[tuple[str, int]]],
) -> Constant:
    quantization = tensor.quantization
    scales = None if quantization is None else quantization.scale
    index = next(i for i, other in enumerate(graph.tensors) if other is tensor)
    behind = [
        port
        for operator in graph.operators
        if _name(model, operator) == "DEQUANTIZE" and index in operator.inputs
        for port in readers.get(int(operator.outputs[0]), ())
    ]
    shifted = quantization is not None and np.any(quantization.zeroPoint)
    return Constant(
        name=label(tensor.name),
        dtype=TYPE_NAMES[tensor.type].lower(),
        shape=() if tensor.shape is None else tuple(int(n) for n in tensor.shape),
        data=np.asarray(model.buffers[tensor.buffer].data, np.uint8),
        scales=0 if scales is None else len(scales),
        axis=0 if quantization is None else int(quantization.quantizedDimension),
        readers=ports,
        behind=tuple(behind),
        scale=None if shifted or scales is None else np.asarray(scales, np.float32),
    )


def _readers(model: Any, graph: Any) -> dict[int, list[tuple[str, int]]]:
    """For each tensor, the names of the operators that read it and the number of the input."""
    found: dict[int, list[tuple[str, int]]] = {}
    for operator in graph.operators:
        for place, index in enumerate(operator.inputs):
            found.setdefault(int(index), []).append((_name(model, operator), place))
    return found


def _name(model: Any, operator: Any) -> str:
    code = model.operatorCodes[operator.opcodeIndex]
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    return OPERATORS[number]


def packed_bytes(count: int, bits: int) -> int:
    """Bytes of a stream of packed codes, with two more at the end: a code is read as 2 or 3 bytes.

    Args:
        count: How many codes there are.
        bits: Bits of a code.

    >>> packed_bytes(3000, 6)
    2252
    """
    return -(-count * bits // 8) + 2
