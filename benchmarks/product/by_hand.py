"""Files of settings that were made by hand for each data set, before there was a search.

Only the rows are left: the best on dev of 6 to 18 settings for each data set, three seeds. The code
that made them is in the history, `benchmarks/product/budget_models.py` until 2026-11-24.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from benchmarks.lib import results
from benchmarks.product import fasttext_grid


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows; they are not made again."""
    return results.rows(name)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: as the table of fastText's grid."""
    return fasttext_grid.table(rows)
