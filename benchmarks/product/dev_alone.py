"""A small dev that decides alone, beside other rows of train and dev that decide as well.

Both arms are searches of TREC, whose dev has 500 texts, within the budgets of `budgets`. In both no
file is trained on dev, and test is read once a file.
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.lib import results, runner
from benchmarks.product import budgets

ARMS = {True: "dev alone", False: "dev and other rows"}


class Spec(NamedTuple):
    """What decides a search, but for the speed of the machine."""

    dev_alone: bool
    dataset: str = "trec"
    minutes: float = 10.0
    workers: int = 2
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [
        Spec(alone, minutes=arguments.minutes, workers=arguments.workers, seed=seed)
        for seed in arguments.seeds or (0, 1, 2)
        for alone in ARMS
    ]

    def run(spec: Spec) -> dict[str, Any]:
        options = {key: value for key, value in spec._asdict().items() if key != "dev_alone"}
        return budgets.searched(budgets.Spec(**options), arguments.data, spec.dev_alone)

    return runner.run_all(name, specs, run, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: accuracy on dev and on test for each budget, mean and spread over seeds."""
    lines = [
        "| what decides | KiB | minutes | seeds | trials | dev | test |",
        "|---|---|---|---|---|---|---|",
    ]
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        trials = sum(map(budgets.begun, group)) / len(group)
        for files in zip(*(row["files"] for row in group), strict=True):
            cells = [ARMS[spec["dev_alone"]], str(files[0]["budget"] // 1024)]
            cells += [f"{spec['minutes']:g}", str(len(group)), str(round(trials))]
            cells += [results.percent(files, f"{kind}_accuracy") for kind in ("dev", "file")]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
