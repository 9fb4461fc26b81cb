"""A user's own data set: a CSV or TSV file with a header, a text and a label in each row."""

import codecs
import contextlib
import csv
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kerascompact.core import checks
from kerascompact.datasets.base import Dataset, unpack
from kerascompact.datasets.rows import Rows, dataset_of, share, without_empty

DELIMITERS = (",", ";", "\t")  # of a .csv: the first under which the header has both columns


def load(
    path: str | os.PathLike[str],
    text: str = "text",
    label: str = "label",
    dev: float = 0.1,
    test: float = 0.1,
    seed: int = 0,
    test_path: str | os.PathLike[str] | None = None,
    dev_path: str | os.PathLike[str] | None = None,
    separator: str | None = None,
) -> Dataset:
    """Loads a table and splits it, of each class in proportion.

    `.csv` is read with double quotes as RFC 4180 has them; between its fields are commas or, as
    spreadsheets write them in many countries, semicolons or tabs. `.tsv` is read without quoting: a
    quote there is a character like any other. Either may end in `.gz`. The encoding is UTF-8. A row
    with an empty text or label is left out with a `DataWarning`.

    Args:
        path: The file. Its first row names the columns.
        text: Name of the column of texts.
        label: Name of the column of labels. Label ids are in alphabetical order, or in order of
            value if all labels are whole numbers.
        dev: Share of the rows held out as dev; what remains after `test` gives it.
        test: Share of the rows held out as test; 0: no test split.
        seed: Seed of both choices.
        test_path: A second file, which is the test split; nothing is held out for it then.
        dev_path: The same for dev.
        separator: What stands between the labels in a cell, for texts that may have several labels
            or, in an empty cell, none. `None`: a cell is one label.
    Returns: The data set.
    Raises: ValueError, naming the file and, where there is one, the line: it is missing, empty,
        damaged, no UTF-8, has NUL bytes, lacks a column, has a row of another length, an empty
        text or label in more than half of the rows, fewer than two classes, too few rows to split,
        or a label in `dev_path` or `test_path` that `path` does not have.
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
    dev, test = share("dev", dev), share("test", test)
    rows = read(path, text, label, separator)
    own_dev = dev if dev_path is None else read(dev_path, text, label, separator)
    own_test = test if test_path is None else read(test_path, text, label, separator)
    name = Path(path).name
    about = f"{name}: {len(rows.texts)} rows."
    return dataset_of(name, rows, own_dev, own_test, seed, about)


def read(
    path: str | os.PathLike[str],
    text: str = "text",
    label: str = "label",
    separator: str | None = None,
) -> Rows:
    """Every row of a table in its order, unsplit; see `load`.

    Raises: ValueError, as `load` for the file itself; one row and one class are enough.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.tsv"
    >>> _ = path.write_text("label\\ttext\\nlouder, now\\tturn it up\\n")
    >>> read(path, separator=",").labels
    [('louder', 'now')]
    """
    if separator is not None and (not isinstance(separator, str) or not separator):
        checks.fail("separator", "a character or a few, between the labels in a cell", separator)
    with _long_fields():
        texts, cells, lines = _columns(Path(path), text, label)
    if separator is None:
        labels: list[tuple[str, ...]] = [(cell,) if cell else () for cell in map(str.strip, cells)]
    else:
        labels = [_parted(cell, separator) for cell in cells]
    return without_empty(Rows(texts, labels, lines, str(path), "line", separator is not None))


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """Fields of any length; those of `csv` have 131,072 characters, some 25,000 words."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _parted(cell: str, separator: str) -> tuple[str, ...]:
    """The labels of a cell, each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, cell.split(separator)))))


def _columns(path: Path, text: str, label: str) -> tuple[list[str], list[str], list[int]]:
    """Texts, cells of labels, and the line where each row begins."""
    reader, header = _opened(path, (text, label))
    text_place, label_place = (_place(path, header, name) for name in (text, label))
    texts, cells, lines, end = [], [], [], reader.line_num
    try:
        for row in reader:
            line, end = end + 1, reader.line_num  # line_num is where the row ends
            if not row:
                continue
            if len(row) != len(header):
                raise ValueError(
                    f"{path}, line {line}: {len(row)} fields, but the header has {len(header)}."
                )
            texts.append(row[text_place])
            cells.append(row[label_place])
            lines.append(line)
    except csv.Error as error:
        raise ValueError(f"{path}, line {end + 1}: {error}.") from error
    if not texts:
        raise ValueError(f"{path} has a header and no rows.")
    return texts, cells, lines


def _opened(path: Path, names: tuple[str, str]) -> tuple[Any, list[str]]:
    """A reader behind the header, and the names in it; of a `.csv` with its own delimiter."""
    content, tabs = _content(path)
    if tabs:
        reader = csv.reader(
            io.StringIO(content, newline=""), delimiter="\t", quoting=csv.QUOTE_NONE
        )
        return reader, _header(reader)
    failed, found = None, []
    for delimiter in DELIMITERS:
        # strict: a stray quote is an error, not a longer field
        reader = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
        try:
            header = _header(reader)
        except csv.Error as error:
            failed = failed or ValueError(f"{path}, line 1: {error}.")
            continue
        if {*names} <= {*header}:
            return reader, header
        found.append((reader, header))
    if failed and all(len(header) < 2 for _, header in found):
        raise failed
    return max(found, key=lambda one: len(one[1]))  # the most columns, for the message


def _header(reader: Any) -> list[str]:
    """The names in the first row that is not blank.

    >>> _header(csv.reader(["", " text,label"]))
    ['text', 'label']
    """
    return [name.strip() for name in next((row for row in reader if row), [])]


def _place(path: Path, header: list[str], name: str) -> int:
    if header.count(name) != 1:
        problem = "two columns" if name in header else "no column"
        columns = ", ".join(map(repr, header))
        raise ValueError(
            f"{path} has {problem} {name!r}. Its columns are {columns}, by its first row. Name "
            "those of texts and labels (`text`, `label`; --text-column, --label-column), or add a "
            "first row of names."
        )
    return header.index(name)


def _content(path: Path) -> tuple[str, bool]:
    """The text of a file, and whether it is a TSV."""
    endings = [ending.lower() for ending in path.suffixes]
    kind = endings[-2:-1] if endings[-1:] == [".gz"] else endings[-1:]
    if kind not in ([".csv"], [".tsv"]):
        checks.fail("path", "a file that ends in .csv, .tsv, .csv.gz or .tsv.gz", str(path))
    if not path.is_file():
        raise ValueError(f"There is no file {path}.")
    data = unpack(path.read_bytes(), path)
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise ValueError(f"{path}: UTF-16 text. Save it as UTF-8.")
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ValueError(f"{path}, line {line}: a NUL byte; this is not a UTF-8 text file.")
    try:
        content = data.decode().removeprefix("\ufeff")  # spreadsheets begin UTF-8 with a mark
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path}, line {line}: not UTF-8 text ({error.reason}). Save the file as UTF-8."
        ) from None
    if not content.strip():
        raise ValueError(f"{path} is empty.")
    return content, kind == [".tsv"]
