"""Option `--data` and its companions: a table of texts and labels, or a data set by name."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerascompact.datasets.base import Dataset, Split

ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def add_source(parser: argparse.ArgumentParser) -> None:
    """Adds `--data` and its companions to a command."""
    parser.add_argument(
        "--data", required=True, metavar="FILE|NAME",
        help="a .csv or .tsv with a header, or clinc150, imdb, ag_news, trec, snips, mrda",
    )  # fmt: skip
    parser.add_argument("--data-dir", metavar="DIR", help="folder of the named data sets")
    parser.add_argument("--text-column", metavar="NAME", help="column of the texts (default: text)")
    parser.add_argument(
        "--label-column", metavar="NAME", help="column of the labels (default: label)"
    )


def dataset(arguments: argparse.Namespace, seed: int = 0) -> "Dataset":
    """Loads the data set of `--data` in three splits.

    Args:
        arguments: The parsed command line.
        seed: Seed of the split, for a table.

    Raises: ValueError, if `--data` is neither a table nor a name, or other options do not fit it.
    """
    from kerascompact import datasets

    if _is_table(arguments):
        return datasets.table.load(arguments.data, *_columns(arguments), seed=seed)
    return datasets.load(arguments.data, arguments.data_dir)


def all_examples(arguments: argparse.Namespace, label_names: Sequence[str]) -> "Split":
    """Loads all texts of the table in `--data`, or the test split of a named data set.

    Args:
        arguments: The parsed command line.
        label_names: Names of the labels; an example's label is an index into them.

    Raises: ValueError, as for `dataset`, or if an example has a label that is not among them.
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
                f"--text-column and --label-column are for tables, not for {arguments.data}."
            )
        return False
    if not arguments.data.lower().endswith(ENDINGS):
        raise ValueError(
            f"--data must be a file that ends in {', '.join(ENDINGS)}, or one of "
            f"{', '.join(datasets.NAMES)}. Received: {arguments.data!r}."
        )
    if arguments.data_dir is not None:
        raise ValueError("--data-dir is for named data sets; --data is the path of the table.")
    return True


def _columns(arguments: argparse.Namespace) -> tuple[str, str]:
    return arguments.text_column or "text", arguments.label_column or "label"
