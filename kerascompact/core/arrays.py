"""Arrays as text in a layer's configuration, and in `.npy` and `.npz` files."""

import base64
import io
import os
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from kerascompact.core import checks, files


def to_text(array: np.ndarray) -> str:
    """An integer array `(n, 2)` as a short string, for a layer's `get_config`.

    >>> len(to_text(np.zeros((10_000, 2), int))) < 200
    True
    """
    data = np.ascontiguousarray(array, "<i4").tobytes()
    return base64.b85encode(zlib.compress(data)).decode("ascii")


def pairs(name: str, value: Any, *bounds: int) -> np.ndarray | None:
    """Pairs of ids `(n, 2)` int32 from an array, a list, or text of `to_text`; `None` stays.

    Raises: ValueError, if it is neither, or an id is not below its column's bound.

    >>> pairs("pairs", to_text(np.array([[1, 2]])), 3, 3).tolist()
    [[1, 2]]
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            data = zlib.decompress(base64.b85decode(value))
        except (ValueError, zlib.error):
            checks.fail(name, "pairs (n, 2), or their text from a configuration", value)
        value = np.frombuffer(data, "<i4").reshape(-1, 2)
    array = np.asarray(value)
    array = array.reshape(0, 2).astype(np.int32) if array.size == 0 else array
    if array.ndim != 2 or array.shape[1] != 2:
        checks.fail(name, "an array of pairs (n, 2)", value)
    for column, bound in enumerate(bounds):
        checks.ids_below(f"{name}[:, {column}]", array[:, column], bound)
    return array.astype(np.int32)


def save_npz(path: str | os.PathLike[str], **arrays: np.ndarray) -> Path:
    """Writes arrays by name into a `.npz` file, in one step.

    >>> import tempfile
    >>> load_npz(save_npz(tempfile.mkdtemp() + "/a.npz", ids=np.arange(3)))["ids"].tolist()
    [0, 1, 2]
    """
    data = io.BytesIO()
    np.savez(data, **arrays)  # type: ignore[arg-type]
    return files.write_bytes(path, data.getvalue())


def load_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Reads arrays that `save_npz` wrote; nothing is unpickled.

    Raises: ValueError, naming the file, if it is no such file or holds objects; OSError.
    """
    try:
        found = np.load(path, allow_pickle=False)
        if not isinstance(found, np.lib.npyio.NpzFile):
            raise ValueError("it holds one array, without a name, as a .npy file does")
        with found:
            return {name: found[name] for name in found.files}
    except (ValueError, zlib.error, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no .npz file of arrays: {error}") from error


def load_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """Reads a `.npy` file of numbers.

    Raises: ValueError, naming the file, if it is damaged or holds Python objects; OSError.

    >>> np.save("counts.npy", np.arange(3))
    >>> load_npy("counts.npy")
    array([0, 1, 2])
    """
    try:
        with open(path, "rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)
    except (ValueError, EOFError, tokenize.TokenError, MemoryError) as error:  # of a bad header
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} is not a .npy file of numbers: {line}") from error


def map_npy(path: str | os.PathLike[str]) -> np.ndarray:
    """Maps a `.npy` file of numbers into memory: only what is used is read.

    Raises: ValueError, naming the file, if it is damaged or holds Python objects; OSError.

    >>> np.save("numbers.npy", np.arange(3))
    >>> map_npy("numbers.npy").tolist()
    [0, 1, 2]
    """
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, tokenize.TokenError) as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} is not a .npy file of numbers: {line}") from error


def save_npy(path: str | os.PathLike[str], array: np.ndarray) -> Path:
    """Writes a `.npy` file in one step.

    >>> load_npy(save_npy("saved.npy", np.arange(3))).tolist()
    [0, 1, 2]
    """
    data = io.BytesIO()
    np.save(data, array, allow_pickle=False)
    return files.write_bytes(path, data.getvalue())
