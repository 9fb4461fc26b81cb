"""CRC-32 checksum inside a file's metadata, which detects damaged and edited files."""

import re
import zlib

EMPTY = '"crc32":"00000000"'  # first entry of kerascompact's metadata; `with_checksum` fills it in
_ENTRY = re.compile(rb'\{"crc32":"(.{8})', re.DOTALL)


def with_checksum(data: bytes) -> bytes:
    """Writes the CRC-32 of a file into its metadata, if kerascompact wrote these.

    The checksum covers all bytes of the file, with zeros in its own place. A tool that edits a file
    and keeps the metadata must call this again.

    Args:
        data: Bytes of a file.

    Returns: The same number of bytes.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> data = kerascompact.export.convert(model)
    >>> with_checksum(data) == data
    True
    """
    entry = _ENTRY.search(data)
    if entry is None:
        return data
    start, end = entry.span(1)
    return data[:start] + _checksum(data, entry) + data[end:]


def mismatch(data: bytes) -> str | None:
    """Says how the checksum of a file is wrong; `None` if it is right or if the file has none.

    >>> mismatch(b'a file {"crc32":"00000000"} of words')
    'their checksum is 7927acd9, and should be 00000000'
    """
    entry = _ENTRY.search(data)
    if entry is None or (found := _checksum(data, entry)) == entry[1]:
        return None
    return f"their checksum is {found.decode()}, and should be {entry[1].decode('latin-1')}"


def _checksum(data: bytes, entry: re.Match[bytes]) -> bytes:
    start, end = entry.span(1)
    return b"%08x" % zlib.crc32(data[end:], zlib.crc32(b"0" * 8, zlib.crc32(data[:start])))
