"""Option `--data` and its companions: a table of texts and labels, or a data set by name."""

import argparse
import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kerascompact.datasets.base import Dataset, Split

OF_TABLES = ("text_column", "label_column", "separator", "dev", "test")
ENDINGS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def add_source(parser: argparse.ArgumentParser, splits: bool = True) -> None:
    """Adds `--data` and its companions to a command.

    Args:
        parser: Parser of the command.
        splits: Whether the command takes dev and test apart, from files of their own if given.
    """
    add = parser.add_argument
    add(
        "--data", required=True, metavar="FILE|NAME",
        help="a .csv or .tsv with a header, or clinc150, imdb, ag_news, trec, snips, mrda, "
        "dbpedia_subset",
    )  # fmt: skip
    if splits:
        add(
            "--dev", metavar="FILE",
            help="table of texts to choose by, such as the best epoch (default: a tenth of --data; "
            "with --budget 200 rows if that is more, but at most three tenths). With --budget it "
            "decides alone and is never trained on",
        )  # fmt: skip
        add(
            "--test", metavar="FILE",
            help="table of texts to measure the result on (default: a tenth of --data)",
        )  # fmt: skip
    add("--data-dir", metavar="DIR", help="folder of the named data sets")
    add("--text-column", metavar="NAME", help="column of the texts (default: text)")
    add("--label-column", metavar="NAME", help="column of the labels (default: label)")
    add(
        "--separator", metavar="TEXT",
        help="what stands between the labels of a text that may have several (default: a cell is "
        "one label)",
    )  # fmt: skip


def dataset(
    arguments: argparse.Namespace,
    seed: int = 0,
    examine: bool = True,
    dev: Callable[[int], float] | None = None,
) -> "Dataset":
    """Loads the data set of `--data` in three splits; prints what is odd about a table.

    Args:
        arguments: The parsed command line.
        seed: Seed of the split, for a table.
        examine: Whether the texts are examined, too, which a search does itself.
        dev: From a table's number of rows to the share that is held out as dev. Default: a tenth.

    Raises: ValueError, if `--data` is neither a table nor a name, or other options do not fit it.
    """
    from kerascompact import datasets

    if not _is_table(arguments):
        return datasets.load(arguments.data, arguments.data_dir)
    text, label, separator = _columns(arguments)
    share = 0.1
    if dev is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rows that are read again below
            share = dev(len(datasets.table.read(arguments.data, text, label, separator).texts))
    with printed_warnings():
        loaded = datasets.table.load(
            arguments.data,
            text,
            label,
            dev=share,
            seed=seed,
            test_path=arguments.test,
            dev_path=arguments.dev,
            separator=separator,
        )
    rules = getattr(arguments, "rules", None) or "wordpunct"  # a search has yet to choose
    for problem in datasets.problems(loaded, rules) if examine else ():
        _print_warning(problem)
    return loaded


def all_examples(arguments: argparse.Namespace, label_names: Sequence[str]) -> "Split":
    """Loads all texts of the table in `--data`, or the test split of a named data set.

    Args:
        arguments: The parsed command line.
        label_names: Names of the labels; an example's label is an index into them.

    Raises: ValueError, as for `dataset`, or if an example has a label that is not among them.
    """
    from kerascompact import datasets
    from kerascompact.datasets.rows import numbered

    if _is_table(arguments):
        with printed_warnings():
            rows = datasets.table.read(arguments.data, *_columns(arguments))
        return numbered(rows, label_names, "the file")
    loaded = datasets.load(arguments.data, arguments.data_dir)
    if tuple(label_names) != tuple(loaded.label_names):
        raise ValueError(f"The labels of the file differ from those of {arguments.data}.")
    return loaded.test


@contextlib.contextmanager
def printed_warnings() -> Iterator[None]:
    """Prints each warning, such as one about the data, as a line on stderr, at once."""
    from kerascompact.datasets.base import DataWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", DataWarning)
        warnings.showwarning = lambda message, *rest, **more: _print_warning(message)
        yield


def _print_warning(message: object) -> None:
    print(f"kerascompact: warning: {message}", file=sys.stderr)


def _is_table(arguments: argparse.Namespace) -> bool:
    from kerascompact import datasets

    if arguments.data in datasets.NAMES and not Path(arguments.data).is_file():
        for name in OF_TABLES:
            if getattr(arguments, name, None) is not None:
                raise ValueError(
                    f"--{name.replace('_', '-')} is for tables, not for {arguments.data}."
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


def _columns(arguments: argparse.Namespace) -> tuple[str, str, str | None]:
    text, label = arguments.text_column, arguments.label_column
    return (
        "text" if text is None else text,
        "label" if label is None else label,
        arguments.separator,
    )
