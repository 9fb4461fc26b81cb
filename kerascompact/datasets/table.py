"""A user's own data set: a CSV or TSV file with a header, a text and a label in each row."""

import csv
import io
import os
from pathlib import Path

import numpy as np

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, Split, hold_out, unpack

Rows = list[tuple[str, str, int]]  # text, label and the line where the row begins


def load(
    path: str | os.PathLike[str],
    text: str = "text",
    label: str = "label",
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    test_path: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Loads a table and splits it, of each class in proportion.

    `.csv` is read with double quotes as RFC 4180 has them, `.tsv` without quoting: a quote there
    is a character like any other. Either may end in `.gz`. The encoding is UTF-8.

    Args:
        path: The file. Its first row names the columns.
        text: Name of the column of texts.
        label: Name of the column of labels. Label ids are in alphabetical order, or in order of
            value if all labels are whole numbers.
        dev: Share of the rows held out as dev; what remains after `test` gives it.
        test: Share of the rows held out as test.
        seed: Seed of both choices.
        test_path: A second file, which is the test split; nothing is held out for it then.
    Raises: ValueError, naming the file and, where there is one, the line: it is missing, empty,
        damaged, no UTF-8, has NUL bytes, lacks a column, has a row of another length, an empty
        text or label, fewer than two classes, too few rows to split, or a label in `test_path`
        that `path` does not have.
    Example:
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.csv"
    >>> _ = path.write_text("text,label\\n" + "turn it up,louder\\nturn it down,softer\\n" * 10)
    >>> data = load(path)
    >>> len(data.train.texts), len(data.dev.texts), len(data.test.texts), data.label_names
    (16, 2, 2, ('louder', 'softer'))

    Differs: a class with too few rows for its share stays in train, which has every class; dev
    and test may then lack it.
    """
    dev = checks.number("dev", dev, above=0, up_to=0.9)
    test = checks.number("test", test, above=0, up_to=0.9)
    path = Path(path)
    rows = _rows(path, text, label)
    label_names = _sorted_labels({name for _, name, _ in rows})
    if len(label_names) < 2:
        raise ValueError(
            f"{path}: the column {label!r} must hold at least 2 classes. "
            f"Received: {len(label_names)} ({', '.join(map(repr, label_names))})."
        )
    rest = whole = _split(rows, label_names, path)
    if test_path is not None:
        held_test = _split(_rows(Path(test_path), text, label), label_names, Path(test_path))
    else:
        rest, held_test = _hold_out(whole, test, len(rows), seed, path)
    train, held_dev = _hold_out(rest, dev, len(rows), seed, path)
    about = f"{path.name}: {len(rows)} rows."
    return Dataset(path.name, train, held_dev, held_test, label_names, about)


def read(path: str | os.PathLike[str], text: str = "text", label: str = "label") -> Rows:
    """Every row of a table as it stands, unsplit: text, label and the line where the row begins.

    Raises: ValueError, as `load` for the file itself; one row and one class are enough.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.tsv"
    >>> _ = path.write_text("label\\ttext\\nlouder\\tturn it up\\n")
    >>> read(path)
    [('turn it up', 'louder', 2)]
    """
    return _rows(Path(path), text, label)


def _hold_out(split: Split, share: float, rows: int, seed: int, path: Path) -> tuple[Split, Split]:
    count = max(1, round(share * rows))
    classes = len(np.unique(split.labels))
    if count > len(split.texts) - classes:
        raise ValueError(
            f"{path}: {rows} rows of {classes} classes are too few to hold out {count} of the "
            f"{len(split.texts)} that are left: train needs one of each class."
        )
    return hold_out(split, count, seed)


def _split(rows: Rows, label_names: tuple[str, ...], path: Path) -> Split:
    ids = {name: id for id, name in enumerate(label_names)}
    for _, name, line in rows:
        if name not in ids:
            raise ValueError(f"{path}, line {line}: label {name!r} does not occur in train.")
    return Split([text for text, _, _ in rows], np.array([ids[n] for _, n, _ in rows], np.int32))


def _sorted_labels(names: set[str]) -> tuple[str, ...]:
    if all(name.isascii() and name.isdigit() and len(name) < 10 for name in names):
        return tuple(sorted(names, key=lambda name: (int(name), name)))
    return tuple(sorted(names))


def _rows(path: Path, text: str, label: str) -> Rows:
    content, tabs = _content(path)
    file = io.StringIO(content, newline="")
    if tabs:
        reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(file, strict=True)  # a stray quote is an error, not a longer field
    try:
        header = [name.strip() for name in next(reader)]
    except csv.Error as error:
        raise ValueError(f"{path}, line 1: {error}.") from error
    for name in (text, label):
        if header.count(name) != 1:
            problem = "two columns" if name in header else "no column"
            columns = ", ".join(map(repr, header))
            raise ValueError(f"{path} has {problem} {name!r}. Its columns are {columns}.")
    places = header.index(text), header.index(label)
    rows: Rows = []
    end = reader.line_num
    try:
        for row in reader:
            line, end = end + 1, reader.line_num  # line_num is where the row ends
            if not row:
                continue
            if len(row) != len(header):
                raise ValueError(
                    f"{path}, line {line}: {len(row)} fields, but the header has {len(header)}."
                )
            values = [row[place] for place in places]
            for name, value in zip((text, label), values, strict=True):
                if not value.strip():
                    raise ValueError(f"{path}, line {line}: the column {name!r} is empty.")
            rows.append((values[0], values[1].strip(), line))
    except csv.Error as error:
        raise ValueError(f"{path}, line {end + 1}: {error}.") from error
    if not rows:
        raise ValueError(f"{path} has a header and no rows.")
    return rows


def _content(path: Path) -> tuple[str, bool]:
    """The text of a file, and whether it is a TSV."""
    endings = [ending.lower() for ending in path.suffixes]
    kind = endings[-2:-1] if endings[-1:] == [".gz"] else endings[-1:]
    if kind not in ([".csv"], [".tsv"]):
        checks.fail("path", "a file that ends in .csv, .tsv, .csv.gz or .tsv.gz", str(path))
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    data = unpack(path.read_bytes(), path)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(f"{path}, line {line}: a NUL byte; this is not a UTF-8 text file.")
    try:
        content = data.decode().removeprefix("\ufeff")  # spreadsheets begin UTF-8 with a mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}, line {line}: not UTF-8 text ({error.reason}).") from None
    if not content.strip():
        raise ValueError(f"{path} is empty.")
    return content, kind == [".tsv"]
