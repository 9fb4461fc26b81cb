"""Base of all data sets: their types and checked files."""

import gzip
import lzma
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kerascompact.core import checks, files

ENVIRONMENT = "KERASCOMPACT_DATA"


class Split(NamedTuple):
    """Texts and their labels; a split that is not given has none of either.

    Args:
        texts: Texts of the split, a list.
        labels: Label of each text, int32 `(rows,)`. If a text may have several labels or none:
            uint8 `(rows, classes)`, 1 where it has the label and 0 elsewhere.
    Example:
    >>> Split(["turn it up"], np.array([2], np.int32)).texts
    ['turn it up']
    """

    texts: list[str]
    labels: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """A text classification data set in memory.

    Args:
        name: Name that `datasets.load` takes.
        train, dev, test: The three splits, each a `Split`; `test` may be empty.
        label_names: Name of label 0, of label 1, ...
        about: Source, terms and citation, in a line or two.
    Example:
    >>> split = Split(["up", "down"], np.array([0, 1], np.int32))
    >>> Dataset("mine", split, split, split, ("louder", "softer"), "my own").label_names[1]
    'softer'
    """

    name: str
    train: Split
    dev: Split
    test: Split
    label_names: tuple[str, ...]
    about: str

    @property
    def multi_label(self) -> bool:
        """Whether a text may have several labels or none; labels are then a matrix, see `Split`."""
        return self.train.labels.ndim == 2


class DataWarning(UserWarning):
    """Something in the data that is not as it should be, and what was done about it."""


class Known(NamedTuple):
    """A file with known content: its path in the data folder, checksum and number of rows."""

    path: str
    sha256: str
    rows: int


def data_dir(data: str | os.PathLike[str] | None = None) -> Path:
    """Finds the folder of the data sets that are not packaged.

    Args:
        data: Path of the folder; `None`: the environment variable `KERASCOMPACT_DATA`, else
            `shared/data` beside the checkout.

    Returns: Path of the folder.

    Raises: ValueError, if there is no such folder.

    >>> data_dir("no/such/folder")
    Traceback (most recent call last):
        ...
    ValueError: There is no data folder no/such/folder (from `data`).
    """
    if data is not None:
        if not isinstance(data, str | os.PathLike):
            checks.fail("data", "the path of a folder", data)
        folder, where = Path(data), "from `data`"
    elif os.environ.get(ENVIRONMENT):
        folder, where = Path(os.environ[ENVIRONMENT]), f"from {ENVIRONMENT}"
    else:
        folder, where = _checkout().parent / "shared" / "data", "beside the checkout"
        if not folder.is_dir():
            raise ValueError(
                "This data set is not packaged. Say where the data folder is: "
                f"`data=`, `--data`, or the environment variable {ENVIRONMENT}."
            )
    if not folder.is_dir():
        raise ValueError(f"There is no data folder {folder} ({where}).")
    return folder


def _checkout() -> Path:
    return Path(__file__).resolve().parents[2]


def read_known(known: Known, folder: Path, source: str) -> bytes:
    """Reads a file with a known checksum, and unpacks it.

    Args:
        known: Name and checksum of the file.
        folder: The data folder.
        source: Public address of the file, for the error.
    Raises: ValueError, if the file is missing or has another checksum.
    """
    path = folder / known.path
    if not path.is_file():
        raise ValueError(
            f"There is no file {path}. Get it from {source}, or name another data folder with "
            f"`data=`, `--data` or the environment variable {ENVIRONMENT}."
        )
    return unpack(verified(path.read_bytes(), known.sha256, path), path)


def verified(data: bytes, expected: str, path: str | os.PathLike[str]) -> bytes:
    """Returns `data` if that is its SHA-256.

    Raises: ValueError, naming the file, the checksum expected and the one found.
    """
    found = files.sha256(data)
    if found != expected:
        raise ValueError(
            f"{path} is damaged, or another version of the file. "
            f"Expected: sha256={expected}. Received: sha256={found} ({len(data)} bytes)."
        )
    return data


def unpack(data: bytes, path: str | os.PathLike[str]) -> bytes:
    """Unpacks `data`, if the name of its file ends in `.gz` or `.xz`.

    Raises: ValueError, naming the file, if it is damaged.

    >>> unpack(gzip.compress(b"text"), "a.csv.gz")
    b'text'
    """
    try:
        match Path(path).suffix.lower():
            case ".gz":
                return gzip.decompress(data)
            case ".xz":
                return lzma.decompress(data)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise ValueError(f"{path} cannot be unpacked: the file is damaged ({error}).") from error
    return data


def make_split(
    texts: Sequence[str], names: Sequence[str], label_names: Sequence[str], known: Known
) -> Split:
    """A split from label names, its rows counted.

    Raises: ValueError, if the number of rows is not the known one.

    >>> make_split(["a"], ["no"], ["no", "yes"], Known("a.csv", "", 1)).labels
    array([0], dtype=int32)
    """
    if len(texts) != known.rows:
        raise ValueError(f"{known.path} must have {known.rows} rows. Received: {len(texts)} rows.")
    ids = {name: id for id, name in enumerate(label_names)}
    return Split(list(texts), np.array([ids[name] for name in names], np.int32))
