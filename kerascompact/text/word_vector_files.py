"""Readers of word vectors in the formats of word2vec, fastText and GloVe, and of lists of words."""

import codecs
import gzip
import lzma
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from kerascompact.core import checks

_NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_word_vectors(
    path: str | os.PathLike[str], limit: int | None = None
) -> tuple[np.ndarray, list[str]]:
    r"""Reads a file of one word and its vector per line, or word2vec's binary file (`.bin`).

    Text is UTF-8: the word, then `d` numbers, with white space between. A first line of two whole
    numbers is the header of word2vec and fastText, rows and `d`; GloVe has none, and its first line
    tells `d`. The last `d` fields are the vector and all before them is the word, which in GloVe's
    840B file may have spaces inside. `.gz` and `.xz` are unpacked as they are read.

    Args:
        path: Path of the file.
        limit: Reads the first rows only.

    Returns: vectors `(V, d)` float32, and the `V` words as they stand.

    Raises: ValueError, naming the file and the line (in binary files: the row), if a row has
        another width, a field is no finite number, a word is empty or no UTF-8, the file is
        empty, damaged, or has other rows than its header says; OSError.

    >>> _ = Path("small.vec").write_text("2 3\nthe 0.5 1 0\n. . 0 1 2\n")
    >>> vectors, words = read_word_vectors("small.vec")
    >>> vectors.tolist(), words
    ([[0.5, 1.0, 0.0], [0.0, 1.0, 2.0]], ['the', '. .'])

    Reference: [word2vec](https://code.google.com/archive/p/word2vec/) (both formats),
    [GloVe](https://nlp.stanford.edu/projects/glove/).
    """
    path = Path(path)
    if limit is not None:
        limit = checks.integer_in("limit", limit, 1)
    endings = [ending.lower() for ending in path.suffixes]
    packing = endings.pop() if endings[-1:] in ([".gz"], [".xz"]) else ""
    binary = endings[-1:] == [".bin"]
    opener: Any = {"": open, ".gz": gzip.open, ".xz": lzma.open}[packing]
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and must be a file of word vectors.")
    vectors, words = [], []
    try:
        with opener(path, "rb") as file:
            for word, row in (_binary_rows if binary else _text_rows)(file, path, limit):
                words.append(word)
                vectors.append(row)
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} cannot be unpacked: the file is damaged ({error}).") from error
    if not words:
        raise ValueError(f"{path} has no word vectors.")
    return np.stack(vectors), words


def read_words(path: Path) -> list[str]:
    """Reads a word on each line; lines end with `\\n`, or all of them with `\\r\\n`.

    Raises: ValueError, naming the file, if it is not UTF-8; OSError.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason}).") from None
    last = lines.pop()  # empty, unless the last line has no end
    windows = bool(lines) and all(line.endswith("\r") for line in lines)  # else it is of a word
    lines += [last] if last else []
    return [line.removesuffix("\r") for line in lines] if windows else lines


def lines_of(words: Sequence[str]) -> bytes:
    """The words as `read_words` takes them.

    Raises: ValueError, if a word has a line break inside.
    """
    for word in words:
        if "\n" in word:
            checks.fail("words", "words without a line break, one for each line", word)
    mark = "\ufeff" if words and words[0].startswith("\ufeff") else ""  # the first is no word's
    end = "\r\n" if all(word.endswith("\r") for word in words) else "\n"
    return (mark + "".join(word + end for word in words)).encode()


def _text_rows(file: IO[bytes], path: Path, limit: int | None) -> Iterator[tuple[str, np.ndarray]]:
    rows: int | None = None
    width = found = blank = 0
    for line, content in enumerate(file, start=1):
        if not content.strip() and line > 1:  # an error, unless it is at the end
            blank = blank or line
            continue
        if blank:
            raise ValueError(f"{path}, line {blank}: the line is empty, and rows go on below it.")
        where = f"{path}, line {line}"
        if line == 1:
            content = content.removeprefix(codecs.BOM_UTF8)  # is no part of the first word
            fields = content.split()
            if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
                rows, width = _header(content, where)
                continue
            width = len(fields) - 1
        fields = content.rsplit(None, width) if width > 0 else []
        if len(fields) <= width or not fields:
            many = f"{width} numbers" if width > 0 else "its numbers"
            raise ValueError(
                f"{where}: expected a word and {many} here. Received: {_shown(content)}."
            )
        if found == rows:
            raise ValueError(f"{where}: the header says {rows} rows, but another row begins here.")
        name, *numbers = fields
        _, *inside = name.split()
        if inside and _NUMBER.fullmatch(inside[-1]):
            raise ValueError(f"{where}: more than {width} numbers. Received: {_shown(content)}.")
        found += 1
        yield _word(name.lstrip(), where), _vector(numbers, where)
        if found == limit:
            return
    if rows is not None and found < rows:
        raise ValueError(f"{path} ends early: its header says {rows} rows, and it has {found}.")


def _binary_rows(
    file: IO[bytes], path: Path, limit: int | None
) -> Iterator[tuple[str, np.ndarray]]:
    rows, width = _header(file.readline(100), f"{path}, line 1")
    for row in range(1, rows + 1 if limit is None else min(rows, limit) + 1):
        where = f"{path}, row {row}"
        name = bytearray()
        while (character := file.read(1)) != b" ":
            if not character or len(name) > 10_000:
                raise ValueError(f"{path} ends early or is damaged in row {row} of {rows}.")
            name += character
        data = file.read(4 * width)
        if len(data) != 4 * width:
            raise ValueError(f"{path} ends early: row {row} of {rows} is incomplete.")
        vector = np.frombuffer(data, "<f4").astype(np.float32)
        if not np.isfinite(vector).all():
            raise ValueError(f"{where}: a number is NaN or infinite.")
        yield _word(bytes(name).strip(b"\n"), where), vector  # some writers end rows with a newline
    if limit is None and file.read(2).strip(b"\n"):
        raise ValueError(f"{path} goes on after the {rows} rows that its header says.")


def _header(content: bytes, where: str) -> tuple[int, int]:
    fields = content.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 12 for field in fields):
        raise ValueError(
            f"{where}: expected the number of rows and their width here. "
            f"Received: {_shown(content)}."
        )
    rows, width = (int(field) for field in fields)
    if rows == 0 or width == 0:
        raise ValueError(f"{where}: the header says {rows} rows of {width} numbers.")
    return rows, width


def _word(name: bytes, where: str) -> str:
    if not name:
        raise ValueError(f"{where}: the word is empty.")
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{where}: the word is not UTF-8 ({error.reason}).") from None


def _vector(fields: list[bytes], where: str) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):  # beyond float32: named as infinite below
            vector = np.array(list(map(float, fields)), np.float64).astype(np.float32)
        if b"_" in b"".join(fields):  # Python reads 1_0 as 10
            raise ValueError
    except ValueError:
        bad = next(field for field in fields if not _is_float(field))
        raise ValueError(f"{where}: {_shown(bad)} is not a number.") from None
    if not np.isfinite(vector).all():
        bad = fields[int(np.argmin(np.isfinite(vector)))]
        raise ValueError(f"{where}: {_shown(bad)} is not a finite number.")
    return vector


def _is_float(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _shown(content: bytes) -> str:
    text = content.decode(errors="backslashreplace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
