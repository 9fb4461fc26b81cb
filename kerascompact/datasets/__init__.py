"""Text classification data sets: one is packaged, six are read from a folder, and your own:
a table (`table.load`) or lists (`from_texts`).

>>> load().name
'clinc150'
"""

import os
from collections.abc import Callable
from typing import Any

from kerascompact.core import checks
from kerascompact.datasets import ag_news, clinc150, dbpedia_subset, imdb, mrda, snips, table, trec
from kerascompact.datasets.base import Dataset, Split
from kerascompact.datasets.examine import problems
from kerascompact.datasets.in_memory import from_texts
from kerascompact.datasets.splitting import hold_out

__all__ = ["Dataset", "Split", "from_texts", "hold_out", "load", "problems", "table"]

_FROM_A_FOLDER: dict[str, Callable[..., Dataset]] = {
    "imdb": imdb.load,
    "ag_news": ag_news.load,
    "trec": trec.load,
    "snips": snips.load,
    "mrda": mrda.load,
    "dbpedia_subset": dbpedia_subset.load,
}
NAMES = ("clinc150", *_FROM_A_FOLDER)


def load(
    name: str = "clinc150", data: str | os.PathLike[str] | None = None, **options: Any
) -> Dataset:
    """Loads a data set by name.

    Args:
        name: `"clinc150"`, `"imdb"`, `"ag_news"`, `"trec"`, `"snips"`, `"mrda"` or
            `"dbpedia_subset"`.
        data: The data folder, see `datasets.base.data_dir`. CLINC150 is packaged and needs none.
        **options: Further arguments of that data set's `load`, such as `dev` and `seed`.
    Returns: The data set.
    Raises: ValueError, if no data set has that name, or its files are missing or damaged.
    Example:
    >>> load("clinc150", out_of_scope=True).label_names[-1]
    'oos'
    """
    checks.choice("name", name, NAMES)
    if name == "clinc150":
        return clinc150.load(**options)
    return _FROM_A_FOLDER[name](data, **options)
