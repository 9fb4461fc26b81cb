"""JSON of a file's metadata, as text or deflated behind its checksum."""

import json
import zlib
from typing import Any

from kerascompact.tflite import checksum

LARGEST = 2**24  # bytes of JSON; more would be no metadata of ours
_HEAD = "{" + checksum.EMPTY


def packed(metadata: dict[str, Any], deflate: bool = False) -> bytes:
    """Writes metadata as JSON without white space, whose first entry `crc32` is filled in later.

    Args:
        metadata: Entries that JSON can hold.
        deflate: Whether all but the first entry may be a raw DEFLATE stream (RFC 1951) behind the
            object of the first, if that is shorter: labels take half the bytes.

    >>> packed({"recipe": "int8"})
    b'{"crc32":"00000000","recipe":"int8"}'
    """
    text = json.dumps(metadata, separators=(",", ":"), ensure_ascii=False, sort_keys=True)
    plain = f"{_HEAD}{',' if metadata else ''}{text[1:]}".encode()
    if not deflate:
        return plain
    stream = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    short = f"{_HEAD}}}".encode() + stream.compress(text.encode()) + stream.flush()
    return min(plain, short, key=len)


def unpacked(content: bytes) -> Any:
    """Reads what `packed` wrote.

    Raises: ValueError or RecursionError, if it is no JSON, or no deflated one.

    >>> unpacked(packed({"labels": ["yes", "no"] * 20}, deflate=True))["labels"][:2]
    ['yes', 'no']
    """
    size = len(_HEAD) + 1
    if len(content) == size or content[size - 1 : size] != b"}":
        return json.loads(content)
    head = json.loads(content[:size])
    stream = zlib.decompressobj(-15)
    try:
        text = stream.decompress(content[size:], LARGEST)
    except zlib.error as error:
        raise ValueError(f"no deflated JSON: {error}") from None
    if not stream.eof or stream.unused_data:
        raise ValueError("no complete deflated JSON")
    found = json.loads(text)
    if not isinstance(head, dict) or not isinstance(found, dict):
        raise ValueError("no deflated JSON object")
    return {**head, **found}
