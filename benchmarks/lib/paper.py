"""A paper's numbers beside ours, in one layout for every paper.

Each page of results has such a table, between `<!-- paper: FOLDER -->` and `<!-- end -->`; its
lines stand in `benchmarks/FOLDER/paper.py`, and ours are read from committed rows.
"""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from benchmarks.lib import results
from benchmarks.lib.experiments import module_of

HEAD = "| table | row | paper | ours | difference | seeds | what differs, or why there is none |"


class Line(NamedTuple):
    """A number of a paper, and where ours is.

    Args:
        place: Table or figure of the paper.
        row: What is measured, in the paper's words.
        paper: The paper's number; `None` if it prints none.
        differs: What differs in ours, or why there is none.
        rows: Experiment whose rows have ours; "" if there is none.
        where: Keys of the rows and values that they must have; a dot leads into a mapping, and keys
            of `spec` need no prefix.
        key: Key of our number in a row.
        scale: Factor of our number, 100 for shares that the paper prints in percent.
        base: Where the rows are that ours are compared with, seed by seed; with it our number is a
            gain over theirs, or, with `share`, a share of it.
        share: Whether ours is divided by that of `base`.
        computed: Our number, where the code computes it and nothing is trained.
    """

    place: str
    row: str
    paper: float | None
    differs: str
    rows: str = ""
    where: Mapping[str, Any] = {}
    key: str = "file_accuracy"
    scale: float = 100
    base: Mapping[str, Any] = {}
    share: bool = False
    computed: float | None = None


def value(row: Mapping[str, Any], key: str) -> Any:
    """What a row or its spec has at a dotted key; `None` if nothing.

    >>> value({"spec": {"options": {"kind": "cluster"}}}, "options.kind")
    'cluster'
    """
    for start in (row, row["spec"]):
        found: Any = start
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            return found
    return None


def ours(line: Line) -> list[float]:
    """Our numbers for a line, one a seed."""
    if line.computed is not None:
        return [line.computed]
    if not line.rows:
        return []
    found = _numbers(line, line.where)
    if not line.base:
        return [*found.values()]
    base = _numbers(line, line.base)  # of as many seeds, or of more
    if missing := {*found} - {*base}:
        raise ValueError(f"{line.place}, {line.row}: seeds {sorted(missing)} have no base")
    pairs = [(one, base[seed]) for seed, one in found.items()]
    return [one / of if line.share else one - of for one, of in pairs]


def _numbers(line: Line, where: Mapping[str, Any]) -> dict[int, float]:
    """By seed."""
    found = [
        row
        for row in results.rows(line.rows)
        if all(value(row, key) == wanted for key, wanted in where.items())
    ]
    groups = results.by_seed(found)
    if len(groups) != 1:
        raise ValueError(f"{line.place}, {line.row}: rows of {len(groups)} settings, not of one")
    return {value(row, "seed"): line.scale * value(row, line.key) for row in groups[0]}


def table(lines: Sequence[Line]) -> str:
    """Markdown: a line for each number, mean and spread of ours over seeds."""
    shown = [HEAD, "|" + "---|" * 7]
    for line in lines:
        numbers = [{"x": number} for number in ours(line)]
        cells = [line.place, line.row, "-" if line.paper is None else f"{line.paper:g}"]
        if numbers:
            average, deviation = results.spread(numbers, "x")
            digits = 2 if abs(average) >= 10 else 3
            cells.append(f"{average:.{digits}f}")
            if len(numbers) > 1:
                cells[-1] += f" ± {deviation:.{digits}f}"
            cells.append("-" if line.paper is None else f"{average - line.paper:+.{digits}f}")
            cells.append("-" if line.computed is not None else str(len(numbers)))
        else:
            cells += ["-", "-", "-"]
        shown.append("| " + " | ".join([*cells, line.differs]) + " |")
    return "\n".join(shown)


def benchmark(name: str, arguments: argparse.Namespace | None = None) -> list[Line]:
    """The lines of `FOLDER_paper`, whose rows are those of the folder's other benchmarks."""
    return list(module_of(name).LINES)
