"""`search.text_classifier` within several budgets at once, beside fastText.

Each data set has ten minutes for all budgets together. No file is trained on dev, as with the
rival; if dev is small, trainings that only compare settings have other rows of train and dev as
dev as well. Test is read once a file.
"""

import argparse
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.lib import results, runner
from benchmarks.product.fasttext_autotune import BUDGETS, SETS
from kerascompact import datasets
from kerascompact.search import text_classifier

SEEDS = 3
RIVALS = {"autotune": "fasttext_autotune", "grid": "fasttext_grid", "by hand": "by_hand"}


class Spec(NamedTuple):
    """What decides a search, but for the speed of the machine."""

    dataset: str
    minutes: float = 10.0
    workers: int = 2
    distil: bool = False
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [
        Spec(dataset, arguments.minutes, arguments.workers, arguments.distil, seed)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or SETS
    ]

    def run(spec: Spec) -> dict[str, Any]:
        return searched(spec, arguments.data)

    return runner.run_all(name, specs, run, table)


def searched(spec: Spec, data: str | None, dev_alone: bool = False) -> dict[str, Any]:
    """The row of a search: one entry for each budget, and what it took.

    `dev_alone`: see `text_classifier`.
    """
    start, before = time.monotonic(), os.times()
    found = text_classifier(
        datasets.load(spec.dataset, data),
        [f"{budget}KiB" for budget in BUDGETS],
        spec.minutes,
        seed=spec.seed,
        workers=spec.workers,
        distil=spec.distil,
        refit=False,
        verbose=False,
        dev_alone=dev_alone,
    )
    used = [after - past for after, past in zip(os.times()[:4], before[:4], strict=True)]
    files = [
        {
            "budget": best.budget,
            "bytes": len(best.file),
            "dev_accuracy": best.dev_score,
            "trainings": len(best.dev_scores),
            "file_accuracy": best.test_score,
            "label": best.setting.label,
            "setting": best.setting.facts(),
        }
        for best in found.by_budget.values()
    ]
    facts = {key: found.facts[key] for key in ("trials", "seconds")}
    seconds = {"total_seconds": time.monotonic() - start, "processor": sum(used)}
    return {"files": files, **facts, **{key: round(value, 1) for key, value in seconds.items()}}


def of_ten_minutes(**changed: Any) -> list[dict[str, Any]]:
    """Rows of searches with the usual settings, or with some that differ."""
    return [
        row
        for row in results.rows("budgets")
        if row["spec"]
        == Spec(row["spec"]["dataset"], seed=row["spec"]["seed"], **changed)._asdict()
    ]


def of_the_page() -> list[dict[str, Any]]:
    """The rows that are compared with fastText's: three of each set, without soft labels.

    Of a set with fewer of these, those of searches that may have soft labels, none of whose files
    has any.

    Raises: ValueError, if one has.
    """
    plain, taught = of_ten_minutes(), of_ten_minutes(distil=True)
    sets = [row["spec"]["dataset"] for row in plain]
    others = [row for row in taught if sets.count(row["spec"]["dataset"]) < SEEDS]
    names = {row["spec"]["dataset"] for row in others}
    for row in others:
        if any(file["setting"]["soft"] for file in row["files"]):
            raise ValueError(f"`budgets` needs rows of {row['spec']['dataset']} without --distil.")
    return [row for row in plain if row["spec"]["dataset"] not in names] + others


def begun(row: dict[str, Any]) -> int:
    """Trials of a search that were begun, over all budgets."""
    counts = (one.items() for one in row["trials"].values())
    return sum(number for one in counts for state, number in one if state != "waiting")


def rivals() -> dict[tuple[str, int], dict[str, list[dict[str, Any]]]]:
    """Rows of fastText's own search, of its grid and of settings by hand, by set and budget."""
    found: dict[tuple[str, int], dict[str, list[dict[str, Any]]]] = {}
    for arm, name in RIVALS.items():
        for row in results.rows(name):
            key = row["spec"]["dataset"], row["spec"]["budget"]
            found.setdefault(key, {}).setdefault(arm, []).append(row)
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: test accuracy for each data set and budget, mean and spread over seeds."""
    lines = [
        "| data set | KiB | minutes | workers | seeds | trials | largest file B | dev | test | "
        "autotune | grid | by hand |",
        "|" + "---|" * 12,
    ]
    others = rivals()
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        for place, first in enumerate(group[0]["files"]):
            files = [row["files"][place] for row in group]
            budget = first["budget"] // 1024
            trials = [begun(row) for row in group]
            kind = " with soft labels" if spec["distil"] else ""
            cells = [spec["dataset"] + kind, str(budget), f"{spec['minutes']:g}"]
            cells += [str(spec["workers"]), str(len(group)), str(round(sum(trials) / len(trials)))]
            cells += [f"{max(file['bytes'] for file in files):,}"]
            cells += [results.percent(files, f"{kind}_accuracy") for kind in ("dev", "file")]
            rival = others.get((spec["dataset"], budget), {})
            cells += [_accuracy(rival.get(arm, [])) for arm in RIVALS]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _accuracy(rows: Sequence[dict[str, Any]]) -> str:
    made = [row for row in rows if row["file_accuracy"] is not None]
    if not made:
        return "none" if rows else "-"
    return results.percent(made, "file_accuracy")
