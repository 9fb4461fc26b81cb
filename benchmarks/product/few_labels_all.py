"""`search.text_classifier` of all labels, with pre-trained vectors and with a teacher.

The arms of `few_labels`, on the splits as they are given, each in one budget. A search has so many
trials, not so many minutes, so that other programs on the machine take nothing from it.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.lib import results, runner
from benchmarks.lib.sentence_encoder import SentenceEncoder
from benchmarks.product import budgets
from benchmarks.product.few_labels import CACHE, VECTORS, taught
from kerascompact import datasets
from kerascompact.search import text_classifier

BUDGETS = {"trec": 128, "clinc150": 64}  # KiB
ARMS = ("vectors", "teacher")
TRIALS = 12
MINUTES = 60.0  # never reached


class Spec(NamedTuple):
    """What decides a search."""

    dataset: str
    arm: str
    trials: int = TRIALS
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [
        Spec(dataset, arm, arguments.trials or TRIALS, seed)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or BUDGETS
        for arm in ARMS
    ]
    return runner.run_all(name, specs, lambda spec: searched(spec, arguments.data), table)


def searched(spec: Spec, data: str | None) -> dict[str, Any]:
    """The row of a search."""
    dataset, options = datasets.load(spec.dataset, data), dict[str, Any]()
    if spec.arm == "teacher":
        options["teacher"] = taught(dataset.train, SentenceEncoder(CACHE / "minilm"))
    start = time.monotonic()
    best = text_classifier(
        dataset,
        f"{BUDGETS[spec.dataset]}KiB",
        MINUTES,
        seed=spec.seed,
        vectors=VECTORS,
        trials=spec.trials,
        workers=1,
        refit=False,
        verbose=False,
        **options,
    ).best
    return {
        "budget": best.budget,
        "bytes": len(best.file),
        "dev_accuracy": best.dev_score,
        "file_accuracy": best.test_score,
        "label": best.setting.label,
        "setting": best.setting.facts(),
        "total_seconds": round(time.monotonic() - start, 1),
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: beside the searches of ten minutes without vectors."""
    lines = ["| data set | KiB | arm | seeds | dev | test | without vectors |", "|" + "---|" * 7]
    for group in results.by_seed(rows):
        spec, budget = group[0]["spec"], group[0]["budget"]
        cells = [spec["dataset"], str(budget // 1024), spec["arm"], str(len(group))]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in ("dev", "file")]
        plain = _without(spec["dataset"], budget)
        cells.append(results.percent(plain, "file_accuracy") if plain else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _without(dataset: str, budget: int) -> list[dict[str, Any]]:
    """The files of `budgets`, of ten minutes with two processes."""
    return [
        file
        for row in budgets.of_the_page()
        if row["spec"]["dataset"] == dataset
        for file in row["files"]
        if file["budget"] == budget
    ]
