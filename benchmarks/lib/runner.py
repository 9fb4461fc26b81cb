"""Runs what has no row yet: one run for each spec, one row for each run."""

import argparse
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar

from benchmarks.lib import results

Row = dict[str, Any]
Table = Callable[[list[Row]], str]


class Spec(Protocol):
    """Everything that decides a run, as a named tuple: two runs of one give the same row, but for
    times. What a method has for itself is a dictionary in it, `options`."""

    @property
    def seed(self) -> int:
        """Seed of all that is drawn."""

    def _asdict(self) -> dict[str, Any]: ...

    def _replace(self, *args: Any, **changes: Any) -> Self: ...


S = TypeVar("S", bound=Spec)


def facts(spec: Any) -> dict[str, Any]:
    """A spec, a named tuple or a mapping, as its row has it.

    >>> facts({"sizes": (1, 2)})
    {'sizes': [1, 2]}
    """
    return json.loads(json.dumps(dict(spec) if isinstance(spec, Mapping) else spec._asdict()))


def with_seeds(specs: Iterable[S], seeds: Sequence[int], epochs: int | None = None) -> list[S]:
    """Every spec with every seed, seed by seed; with `epochs`, each of so many."""
    changes = {"epochs": epochs} if epochs else {}
    specs = list(specs)
    return [spec._replace(seed=seed, **changes) for seed in seeds for spec in specs]


def run_all(
    name: str, specs: Iterable[Any], run: Callable[[Any], Row | None], table: Table
) -> list[Row]:
    """Runs each spec that has no row in the file of `name`, so that a killed experiment goes on.

    Args:
        name: Of the experiment, which says where its rows are.
        specs: Named tuples, see `Spec`, or mappings.
        run: Makes the row of a spec, or `None` if it cannot be run here.
        table: Its last line, of a new row, is printed.

    Returns: The rows, in the order of their specs.
    """
    found = []
    for spec in specs:
        row = results.find(name, facts(spec))
        if row is None:
            made = run(spec)
            if made is None:
                continue
            row = keep(name, {**made, "spec": facts(spec)}, table)
        found.append(row)
    return found


def keep(name: str, row: Row, table: Table) -> Row:
    """Appends a row, prints it as the last line of its table, and returns it as it will be read."""
    row = json.loads(json.dumps(row))
    results.append(name, row)
    print(table([row]).splitlines()[-1], flush=True)
    return row


def benchmark(
    name: str,
    specs: Iterable[Any],
    arguments: argparse.Namespace,
    run: Callable[[Any], Row],
    table: Table,
    seeds: Sequence[int] = (0,),
) -> list[Row]:
    """`run_all` of every spec with `arguments.seeds` or `seeds`, of `arguments.epochs` if given."""
    wanted = with_seeds(specs, arguments.seeds or seeds, arguments.epochs)
    return run_all(name, wanted, run, table)
