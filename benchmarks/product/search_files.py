"""Files of whole searches within random budgets: none is over, and how much of each is used.

Ten searches have ten budgets each, drawn evenly by their logarithm from 8 KiB to 2 MiB, and a trial
for each budget, of the first settings that a search tries.
"""

import argparse
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from benchmarks.lib import runner
from benchmarks.product.search_sizes import BUDGETS
from kerascompact import datasets
from kerascompact.search import text_classifier

DRAWN = 10  # budgets of a search
SMALLEST = 12 * 1024  # bytes: the classes of CLINC150 alone take 11 KiB


class Spec(NamedTuple):
    """What decides a search."""

    dataset: str = "clinc150"
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet: ten searches."""
    specs = [Spec(seed=seed) for seed in arguments.seeds or range(10)]

    def run(spec: Spec) -> dict[str, Any]:
        return {"files": files(spec, arguments.data)}

    return runner.run_all(name, specs, run, table)


def files(spec: Spec, data: str | None) -> list[dict[str, Any]]:
    """Bytes of each file beside its budget."""
    low, high = math.log(max(BUDGETS[0], SMALLEST)), math.log(BUDGETS[1])
    drawn = np.exp(np.random.default_rng(spec.seed).uniform(low, high, DRAWN))
    found = text_classifier(
        datasets.load(spec.dataset, data),
        sorted({int(budget) for budget in drawn}),
        minutes=60,
        seed=spec.seed,
        distil=False,
        refit=False,
        workers=1,
        trials=DRAWN,
        verbose=False,
    )
    return [
        {"budget": best.budget, "bytes": len(best.file), "label": best.setting.label}
        for best in found.by_budget.values()
    ]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: for ranges of budgets, the files over them, and the share that is used."""
    every = [file for row in rows for file in row["files"]]
    bounds = [BUDGETS[0], 32 * 1024, 128 * 1024, 512 * 1024, BUDGETS[1]]
    ranges = [*zip(bounds[:-1], bounds[1:], strict=True), (bounds[0], bounds[-1])]
    lines = [
        "| budget KiB | files | over the budget | used, median % | least % |",
        "|" + "---|" * 5,
    ]
    for low, high in ranges:
        group = [file for file in every if low <= file["budget"] < high]
        if not group:
            continue
        used = [100 * file["bytes"] / file["budget"] for file in group]
        over = sum(file["bytes"] > file["budget"] for file in group)
        cells = [f"{low // 1024} to {high // 1024}", str(len(group)), str(over)]
        cells += [f"{np.median(used):.1f}", f"{min(used):.1f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
