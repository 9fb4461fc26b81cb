"""Inventory of a `.tflite` file: operators, inputs and outputs, every constant and its bytes."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from kerascompact.tflite import flatbuffer, graph_edits, tensor_names
from kerascompact.tflite.constants import read_outside
from kerascompact.tflite.metadata import metadata_of, of_signature
from kerascompact.tflite.metadata_schema import METADATA_NAME

_LIMITS = (("max_bytes", "bytes"), ("length", "tokens"), ("max_words", "tokens"))


class StoredTensor(NamedTuple):
    """Constant of a file.

    Args:
        name: Name of the tensor; empty if the exporter dropped it.
        dtype: Type of the numbers, such as "int8".
        shape: Shape of the tensor.
        num_bytes: Bytes of the constant.
        share: Share of the file's bytes.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    num_bytes: int
    share: float


class Inspection(NamedTuple):
    """Result of `inspect`; printing it gives a report.

    Args:
        num_bytes: Size of the file in bytes.
        operators: How often each operator occurs, the most frequent first.
        custom: Flex and custom operators, which plain TFLite does not have.
        tensors: The constants, largest first.
        metadata: Metadata of kerascompact, or `None`.
        metadata_bytes: Bytes of these metadata.
        overhead: Bytes that are neither constants nor metadata.
        inputs: Name, type and shape of each input of the first model.
        outputs: Name, type and shape of each output of the first model.
        signatures: Inputs and outputs of each model in the file, by name.
        runtime: Oldest runtime version that can run the file, as the file says.
    """

    num_bytes: int
    operators: dict[str, int]
    custom: list[str]
    tensors: list[StoredTensor]
    metadata: dict[str, Any] | None
    metadata_bytes: int
    overhead: int
    inputs: list[str]
    outputs: list[str]
    signatures: dict[str, tuple[list[str], list[str]]] = {}
    runtime: str = ""

    def __str__(self) -> str:
        lines = [f"{self.num_bytes:,} bytes, {self.overhead:,} of them graph"]
        if self.metadata:
            lines[0] += f", {self.metadata_bytes:,} metadata"
        ports = self.signatures if len(self.signatures) > 1 else {"": (self.inputs, self.outputs)}
        for name, (ins, outs) in ports.items():
            lines.append(f"{name} in:  ".lstrip() + ", ".join(ins))
            lines.append(f"{name} out: ".lstrip() + ", ".join(outs))
            facts = of_signature(self.metadata or {}, name or next(iter(self.signatures), ""))
            if "text" in facts:
                lines.append(f"{name} {_text_in(facts['text'])}".lstrip())
        lines.append("operators: " + ", ".join(f"{k} x{v}" for k, v in self.operators.items()))
        lines.append(
            "needs an extra runtime for: " + ", ".join(self.custom)
            if self.custom
            else "built-in operators only (no Flex, no custom operators)"
        )
        if self.runtime:
            lines[-1] += f", runtime {self.runtime} or newer"
        large = [t for t in self.tensors if t.num_bytes > 16] or self.tensors
        lines.extend(
            f"{t.num_bytes:>12,} B {t.share:>6.1%}  {t.dtype:<8} {list(t.shape)}  {t.name}".rstrip()
            for t in large
        )
        small = sum(t.num_bytes for t in self.tensors) - sum(t.num_bytes for t in large)
        if small:
            count = len(self.tensors) - len(large)
            lines.append(f"{small:>12,} B {small / self.num_bytes:>6.1%}  {count} small constants")
        for fact in (self.metadata or {}).get("embeddings", []):
            paper = fact.get("paper_bits")
            paper = "" if paper is None else f", by the paper's formula {paper / 8:,.0f}"
            lines.append(
                f"{fact['form']}: {fact['input_dim'] or 'any word'} x {fact['output_dim']} in "
                f"{fact['stored_bits'] / 8:,.0f} bytes stored{paper}"
            )
        return "\n".join(lines)


def inspect(file: bytes | str | Path) -> Inspection:
    """Lists a file's operators, inputs, outputs, constants and metadata, with their bytes.

    Args:
        file: Path or bytes of any `.tflite` file.

    Returns: The lists and sizes; printing them gives a report.

    Raises: ValueError, if it is not a TFLite file, or is truncated or damaged.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> ids = keras.Input((4,), dtype="int32", name="ids")
    >>> model = keras.Model(ids, ClusterEmbedding(9, 2, num_clusters=3)(ids))
    >>> found = inspect(kerascompact.export.convert(model))
    >>> found.custom, found.inputs
    ([], ['ids int32[1, 4]'])
    """
    data, model = flatbuffer.read(file)
    read_outside(model, data)
    names = Counter(flatbuffer.operator_names(model))
    tensors = _constants(model, len(data))
    metadata_bytes = sum(
        len(model.buffers[entry.buffer].data)
        for entry in model.metadata or []
        if entry.name == METADATA_NAME
    )
    graph = model.subgraphs[0]
    return Inspection(
        num_bytes=len(data),
        operators=dict(sorted(names.items(), key=lambda item: (-item[1], item[0]))),
        custom=sorted(name.removeprefix("CUSTOM:") for name in names if name.startswith("CUSTOM:")),
        tensors=tensors,
        metadata=metadata_of(model),
        metadata_bytes=metadata_bytes,
        overhead=len(data) - metadata_bytes - sum(t.num_bytes for t in tensors),
        inputs=[_port(graph.tensors[index]) for index in graph.inputs],
        outputs=[_port(graph.tensors[index]) for index in graph.outputs],
        signatures=dict(_signature(model, found) for found in model.signatureDefs or []),
        runtime=graph_edits.runtime_of(model),
    )


def _text_in(text: dict[str, Any]) -> str:
    """Limits and rules of a text input."""
    limits = [f"{text[key]:,} {unit}" for key, unit in _LIMITS if text[key] is not None]
    inside = f"the vocabulary is inside, {text['bytes']:,} bytes"
    return (
        f"text in: UTF-8 bytes, {' and '.join(limits) or 'any number'}, cut by the rules "
        f"{text['rules']!r}; {inside if text['bytes'] else 'no vocabulary'}"
    )


def _signature(model: Any, found: Any) -> tuple[str, tuple[list[str], list[str]]]:
    """Name of a model in the file, with its inputs and outputs."""
    tensors = model.subgraphs[found.subgraphIndex].tensors
    ins, outs = (
        [_port(tensors[port.tensorIndex], port.name) for port in ports or []]
        for ports in (found.inputs, found.outputs)
    )
    return (found.signatureKey or b"").decode("utf-8", "replace"), (ins, outs)


def _constants(model: Any, size: int) -> list[StoredTensor]:
    """The constant buffers, largest first; a buffer that several tensors share is listed once."""
    found = {}
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            data = model.buffers[tensor.buffer].data
            if data is not None and len(data) and tensor.buffer not in found:
                shape = () if tensor.shape is None else tuple(int(n) for n in tensor.shape)
                dtype = flatbuffer.TYPE_NAMES[tensor.type].lower()
                name = tensor_names.label(tensor.name)
                found[tensor.buffer] = StoredTensor(name, dtype, shape, len(data), len(data) / size)
    return sorted(found.values(), key=lambda tensor: -tensor.num_bytes)


def _port(tensor: Any, name: bytes | None = None) -> str:
    shape = tensor.shape if tensor.shapeSignature is None else tensor.shapeSignature
    dims = ["?" if n == -1 else str(int(n)) for n in (() if shape is None else shape)]
    shown = (name or tensor.name or b"").decode("utf-8", "replace")
    return f"{shown} {flatbuffer.TYPE_NAMES[tensor.type].lower()}[{', '.join(dims)}]"
