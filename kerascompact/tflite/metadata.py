"""kerascompact's metadata in a `.tflite` file: what it was made from, and how to use it."""

from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.core import checks
from kerascompact.tflite import packed_json
from kerascompact.tflite.flatbuffer import read
from kerascompact.tflite.layout import schema
from kerascompact.tflite.metadata_schema import METADATA_NAME, metadata_fits


def read_metadata(file: bytes | str | Path) -> dict[str, Any]:
    """Reads kerascompact's metadata of a file: labels, vocabulary checksum, sizes, recipe.

    Args:
        file: Path or bytes of a `.tflite` file.

    Returns: The metadata, parsed from JSON.

    Raises: ValueError, if it is not a TFLite file, is damaged or was not written by kerascompact;
        FileNotFoundError.

    Example:
    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> read_metadata(kerascompact.export.convert(model))["embeddings"][0]["form"]
    'CodebookForm'
    """
    metadata = metadata_of(read(file)[1])
    if metadata is None:
        raise ValueError(
            "The file must have been written by kerascompact. "
            "Received: a TFLite model without kerascompact's metadata."
        )
    return metadata


def metadata_of(model: Any) -> dict[str, Any] | None:
    """The metadata of a parsed model; `None` if kerascompact did not write the file."""
    for entry in model.metadata or []:
        if entry.name == METADATA_NAME:
            content = bytes(bytearray(model.buffers[entry.buffer].data))
            try:
                found = packed_json.unpacked(content)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    "`flatbuffer` must be a file whose kerascompact metadata are JSON. "
                    f"Received: metadata of {len(content)} bytes that are not ({error})."
                ) from error
            if not metadata_fits(found):
                checks.fail("flatbuffer", "a file whose metadata have kerascompact's schema", found)
            found.pop("crc32", None)  # it describes the file, not the model
            return found
    return None


def of_signature(metadata: dict[str, Any], name: str) -> dict[str, Any]:
    """The metadata of a file with what they say of one of its models, if it has several.

    The tables of the others are not its own.

    >>> of_signature({"vocabulary": {}, "signatures": {"a": {"labels": ["x"]}}}, "a")["labels"]
    ['x']
    """
    own = metadata.get("signatures", {}).get(name)
    return metadata if own is None else {**metadata, "embeddings": [], **own}


def metadata_of_graph(model: Any, graph: int = 0) -> dict[str, Any]:
    """`of_signature` of a graph in a parsed model; empty if kerascompact did not write it."""
    found = metadata_of(model) or {}
    for one in model.signatureDefs or []:
        if one.subgraphIndex == graph:
            return of_signature(found, (one.signatureKey or b"").decode("utf-8", "replace"))
    return found


def add_metadata(model: Any, metadata: dict[str, Any], deflate: bool = False) -> None:
    """Adds metadata to a parsed model, see `packed_json`.

    The first entry is `crc32`, which `pack` fills in.

    Args:
        model: `ModelT` of the schema, changed in place.
        metadata: Entries that JSON can hold.
        deflate: Whether they may be deflated.
    """
    buffer, entry = schema.BufferT(), schema.MetadataT()
    buffer.data = np.frombuffer(packed_json.packed(metadata, deflate), np.uint8)
    entry.name, entry.buffer = METADATA_NAME, len(model.buffers)
    model.buffers.append(buffer)
    model.metadata = [*(model.metadata or []), entry]
