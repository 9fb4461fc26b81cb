"""fastText's own search within a budget of bytes, `autotuneModelSize`, to compare `search` with.

It is asked for a size; if its file is larger than that (from Python it is, by up to 13 %), it is
asked for less, with the full time again, until the file fits. Its search is counted in seconds of
the clock; the rows also have those of the processor, which show whether it had two cores.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.lib import results, runner
from benchmarks.product.fasttext_files import PREFIX, Files
from kerascompact import datasets

SETS = ("trec", "snips", "clinc150", "ag_news", "imdb")
BUDGETS = (16, 32, 64, 128)  # KiB
KIB = 1024
SECONDS = 150  # a budget: ten minutes for four
ATTEMPTS = 4
THREADS = 12  # the default; with fewer than 11, 0.9.3 leaves vectors as memory was


class Spec(NamedTuple):
    """What decides a run."""

    dataset: str
    budget: int  # KiB
    seconds: float = SECONDS
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""
    specs = [
        Spec(dataset, budget, arguments.minutes * 60 / len(BUDGETS), seed)
        for seed in arguments.seeds or (0, 1, 2)
        for dataset in arguments.sets or SETS
        for budget in BUDGETS
    ]

    def run(spec: Spec) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            loaded = datasets.load(spec.dataset, arguments.data)
            return tuned(Files(loaded, (), Path(folder)), spec)

    return runner.run_all(name, specs, run, table)


def tuned(files: Files, spec: Spec) -> dict[str, Any]:
    """The row of a run: the first file that fits, or why there is none."""
    begun, budget, asked = time.monotonic(), spec.budget * KIB, spec.budget * KIB
    before = _processor()
    row: dict[str, Any] = {"bytes": None, "dev_accuracy": None, "file_accuracy": None}
    for attempt in range(1, ATTEMPTS + 1):
        path = files.folder / "tuned.ftz"
        error = _in_a_process(files.folder, path, asked, spec)
        row |= {"attempts": attempt, "error": error}
        if error is not None:
            break
        row["bytes"] = path.stat().st_size
        if row["bytes"] <= budget:
            accuracy = {"dev_accuracy": files.accuracy(path, "dev")}
            row |= accuracy | {"file_accuracy": files.accuracy(path, "test")}
            break
        asked = int(asked * budget / row["bytes"] * 0.99)
    spent = {"seconds": time.monotonic() - begun, "processor": _processor() - before}
    return {**row, **{key: round(value, 1) for key, value in spent.items()}}


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _in_a_process(folder: Path, path: Path, size: int, spec: Spec) -> str | None:
    """Trains in a process of its own, since some settings end it; returns the error, if any."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        try:
            pool.submit(_train, folder, path, size, spec).result()
        except BrokenProcessPool:
            return "The process was ended."
        except (RuntimeError, ValueError) as error:
            return str(error)
    return None


def _train(folder: Path, path: Path, size: int, spec: Spec) -> None:
    import fasttext

    model = fasttext.train_supervised(
        str(folder / "train.txt"),
        autotuneValidationFile=str(folder / "dev.txt"),
        autotuneDuration=int(spec.seconds),
        autotuneModelSize=str(size),
        label=PREFIX,
        seed=spec.seed,
        thread=THREADS,
        verbose=0,
    )
    model.save_model(str(path))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each data set and budget, mean and spread over seeds."""
    lines = ["| data set | KiB | seeds | file B | s | dev | test |", "|" + "---|" * 7]
    for group in results.by_seed(rows):
        spec = group[0]["spec"]
        made = [row for row in group if row["file_accuracy"] is not None]
        shown = ["none", "-", "-"]
        if made:
            shown = [f"{max(row['bytes'] for row in made):,}"]
            shown += [results.percent(made, f"{kind}_accuracy") for kind in ("dev", "file")]
        seconds = f"{max(row['seconds'] for row in group):.0f}"
        count = f"{len(made)} of {len(group)}"
        cells = [spec["dataset"], str(spec["budget"]), count, shown[0], seconds, *shown[1:]]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
