"""Files whose metadata say what kerascompact never writes."""

import copy
import json
from typing import Any

import numpy as np

from kerascompact.tflite import checksum
from kerascompact.tflite.layout import schema
from kerascompact.tflite.metadata_schema import METADATA_NAME

NUMBERS = (-(2**31), -7, -2, -1, 0, 1, 2, 3, 7, 127, 128, 255, 999, 65536, 2**31 - 1, 2**40)
VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    2**70,
    1.5,
    "",
    "\x00",
    [],
    {},
    [[]],
    {"a": None},
    [1, "a"],
    "int4",
)


def pick(random: np.random.Generator, entries: Any) -> Any:
    """One of some entries."""
    return entries[int(random.integers(len(entries)))]


def metadata(model: Any, random: np.random.Generator) -> None:
    """JSON of ours with a value of another kind, a key less, or bytes that are no JSON."""
    if not model.metadata:
        model.metadata = [schema.MetadataT()]
        model.metadata[0].name, model.metadata[0].buffer = METADATA_NAME, 1
        return
    entry = pick(random, model.metadata)
    if random.random() < 0.1:
        entry.buffer = max(0, int(pick(random, NUMBERS[:-1])))
        return
    if not 0 <= entry.buffer < len(model.buffers) or model.buffers[entry.buffer].data is None:
        return
    buffer = model.buffers[entry.buffer]
    text = bytes(bytearray(buffer.data))
    if random.random() < 0.2:
        broken = bytearray(text)
        broken[int(random.integers(len(broken)))] = int(random.integers(256))
        buffer.data = np.frombuffer(bytes(broken), np.uint8)
        return
    if random.random() < 0.05:
        deep = b"[" * 100_000
        buffer.data = np.frombuffer(b"{" + checksum.EMPTY.encode() + b',"a":' + deep, np.uint8)
        return
    target = root = json.loads(text)
    root.pop("crc32", None)
    while True:
        keys = [*target] if isinstance(target, dict) else [*range(len(target))]
        if not keys:
            break
        key = pick(random, keys)
        inner = target[key]
        if isinstance(inner, dict | list) and inner and random.random() < 0.8:
            target = inner
            continue
        if random.random() < 0.2:
            del target[key]
        else:
            target[key] = copy.deepcopy(pick(random, VALUES))
        break
    written = json.dumps(root, separators=(",", ":"))
    written = "{" + checksum.EMPTY + ("," if root else "") + written[1:]
    buffer.data = np.frombuffer(written.encode(), np.uint8)
