"""Atomic writes: a file is complete or absent."""

import hashlib
import os
import tempfile
from pathlib import Path


def write_bytes(path: str | os.PathLike[str], data: bytes) -> Path:
    """Writes `data` to `path` in one step; a reader sees the old file or the new, never a half.

    Missing folders are made. After a failure (full disk, no permission) the old file is untouched
    and no temporary file is left.

    >>> import tempfile; folder = tempfile.mkdtemp()
    >>> write_bytes(folder + "/a/model.bin", b"abc").read_bytes()
    b'abc'
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The start of a name alone: one of the longest names would be too long with more.
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:40]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)  # mkstemp makes a private file; give it the mode that open() would
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path


def texts_of(path: Path) -> list[str]:
    """The texts of a file, one in each line that is not empty.

    Raises: ValueError, naming the file, if it is not UTF-8; OSError.

    >>> import tempfile; folder = tempfile.mkdtemp()
    >>> texts_of(write_bytes(folder + "/texts.txt", b"one\\n\\ntwo\\r\\n"))
    ['one', 'two']
    """
    try:
        text = path.read_bytes().decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason}).") from None
    return [line.removesuffix("\r") for line in text.split("\n") if line.strip()]


def sha256(data: bytes) -> str:
    """Hexadecimal SHA-256 of `data`.

    >>> sha256(b"")[:8]
    'e3b0c442'
    """
    return hashlib.sha256(data).hexdigest()
