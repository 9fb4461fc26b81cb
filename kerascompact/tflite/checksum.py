"""CRC-32 of a file, stored inside the file: tells whether it is as kerascompact wrote it."""

import re
import zlib

EMPTY = '"crc32":"00000000"'  # the first entry of kerascompact's metadata, for `sealed` to fill
_SEAL = re.compile(rb'\{"crc32":"(.{8})', re.DOTALL)


def sealed(data: bytes) -> bytes:
    """The bytes of a file with their CRC-32 in the metadata, if kerascompact's are there.

    A tool that edits a file and keeps its metadata breaks the seal; this makes it anew. The
    checksum is of all bytes, with zeros where it stands itself.

    >>> from kerascompact.layers import ClusterEmbedding
    >>> model = keras.Sequential([keras.Input((4,), dtype="int32"), ClusterEmbedding(9, 2, 3)])
    >>> data = kerascompact.export.convert(model)
    >>> sealed(data) == data
    True
    """
    seal = _SEAL.search(data)
    if seal is None:
        return data
    start, end = seal.span(1)
    return data[:start] + _checksum(data, seal) + data[end:]


def broken(data: bytes) -> str | None:
    """What is wrong with the seal of a file; `None` if it is whole, or if there is none.

    >>> broken(b'a file {"crc32":"00000000"} of words')
    'their checksum is 7927acd9, and should be 00000000'
    """
    seal = _SEAL.search(data)
    if seal is None or (found := _checksum(data, seal)) == seal[1]:
        return None
    return f"their checksum is {found.decode()}, and should be {seal[1].decode('latin-1')}"


def _checksum(data: bytes, seal: re.Match[bytes]) -> bytes:
    start, end = seal.span(1)
    return b"%08x" % zlib.crc32(data[end:], zlib.crc32(b"0" * 8, zlib.crc32(data[:start])))
