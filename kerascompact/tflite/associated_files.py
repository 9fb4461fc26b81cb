"""Files inside a `.tflite` file: a ZIP archive behind its flatbuffer, as MediaPipe reads it."""

import io
import zipfile
from collections.abc import Mapping

from kerascompact.tflite import checksum

_DATE = (1980, 1, 1, 0, 0, 0)  # always the same, so that equal models give equal files


def associated_files(data: bytes) -> dict[str, bytes]:
    """Reads the files inside a `.tflite` file, such as a vocabulary and labels.

    Args:
        data: Bytes of the file.

    Returns: Name and content of each file; empty if there are none.

    Raises: ValueError, if the archive is damaged.

    >>> associated_files(with_files(b"a model", {"labels.txt": b"good"}))
    {'labels.txt': b'good'}
    """
    try:
        if not zipfile.is_zipfile(io.BytesIO(data)):
            return {}
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(
            f"`flatbuffer` must be a complete TFLite model. Received: {len(data)} bytes with a "
            f"damaged archive of files ({error})."
        ) from error


def archive_bytes(data: bytes) -> int:
    """Size of the archive behind the graph, with its headers; 0 without one.

    >>> whole = with_files(b"graph", {"labels.txt": b"a"})
    >>> archive_bytes(whole) == len(whole) - len(b"graph")
    True
    """
    if not associated_files(data):
        return 0
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return len(data) - min(info.header_offset for info in archive.infolist())


def with_files(data: bytes, files: Mapping[str, bytes]) -> bytes:
    """Puts files behind a flatbuffer, as a ZIP archive without compression.

    MediaPipe maps the file into memory and reads the archive in place, so it refuses compressed
    ones. The checksum in kerascompact's metadata is computed again over all bytes.

    Args:
        data: Bytes of a file without such an archive.
        files: Content of each file by its name.

    Returns: The bytes of the file with the archive.
    """
    if not files:
        return data
    stream = io.BytesIO(data)
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _DATE), content)
    return checksum.with_checksum(stream.getvalue())
