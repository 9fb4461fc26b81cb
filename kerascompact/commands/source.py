"""`--data` and what belongs to it: a table of the user's, or a data set by name."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerascompact.datasets.base import Dataset, Split

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", required=True, metavar="FILE|NAME",
        help="a .csv or .tsv with a header, or clinc150, imdb, ag_news, trec, snips, mrda",
    )  # fmt: skip
    parser.add_argument("--data-dir", metavar="DIR", help="where the named sets lie")
    parser.add_argument("--text-column", metavar="NAME", help="of a table (text)")
    parser.add_argument("--label-column", metavar="NAME", help="of a table (label)")


def dataset(arguments: argparse.Namespace, seed: int = 0) -> "Dataset":
    """What `--data` names, in three splits.

    Raises: ValueError, if it is neither a table nor a name, or the options do not fit it.
    """
    from kerascompact import datasets

    if _is_table(arguments):
        return datasets.table.load(arguments.data, *_columns(arguments), seed=seed)
    return datasets.load(arguments.data, arguments.data_dir)


def all_rows(arguments: argparse.Namespace, label_names: Sequence[str]) -> "Split":
    """Every row of the table, or the test split of a named set; labels as in `label_names`.

    Raises: ValueError, as `dataset`, or if a row has a label that is not among them.
    """
    import numpy as np

    from kerascompact import datasets
    from kerascompact.datasets.base import Split

    ids = {name: id for id, name in enumerate(label_names)}
    if _is_table(arguments):
        rows = datasets.table.read(arguments.data, *_columns(arguments))
        for _, name, line in rows:
            if name not in ids:
                raise ValueError(f"{arguments.data}, line {line}: the file has no label {name!r}.")
        labels = np.array([ids[name] for _, name, _ in rows], np.int32)
        return Split([text for text, _, _ in rows], labels)
    loaded = datasets.load(arguments.data, arguments.data_dir)
    if tuple(label_names) != tuple(loaded.label_names):
        raise ValueError(f"The file has other labels than {arguments.data}.")
    return loaded.test


def _is_table(arguments: argparse.Namespace) -> bool:
    from kerascompact import datasets

    columns = arguments.text_column, arguments.label_column
    if arguments.data in datasets.NAMES and not Path(arguments.data).is_file():
        if columns != (None, None):
            raise ValueError(
                f"--text-column and --label-column are of tables, not {arguments.data}."
            )
        return False
    if not arguments.data.lower().endswith(ENDINGS):
        raise ValueError(
            f"--data must be a file that ends in {', '.join(ENDINGS)}, or one of "
            f"{', '.join(datasets.NAMES)}. Received: {arguments.data!r}."
        )
    if arguments.data_dir is not None:
        raise ValueError("--data-dir is of the named sets; a table is read from where --data says.")
    return True


def _columns(arguments: argparse.Namespace) -> tuple[str, str]:
    return arguments.text_column or "text", arguments.label_column or "label"
