"""Bytes that `search` predicts before it trains, against the files, for random settings.

Budgets are drawn evenly by their logarithm from 8 KiB to 2 MiB, settings from the search's space by
chance. Weights are random: the numbers in a file do not change its size.
"""

import argparse
import functools
import math
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import optuna

from benchmarks.lib import runner
from kerascompact import datasets
from kerascompact.search.space import suggest
from kerascompact.search.task import Task
from kerascompact.search.word_sizes import sample_words
from kerascompact.search.worker import Worker
from kerascompact.text import Vocabulary

SETS = ("trec", "clinc150")
DRAWN = 25  # settings of a row
BUDGETS = (8 * 1024, 2 * 1024**2)


class Spec(NamedTuple):
    """What decides the settings of a row: the data set and the seed of the draws."""

    dataset: str
    seed: int = 0


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet: ten rows of 25 settings for each data set."""
    specs = [
        Spec(dataset, seed)
        for seed in arguments.seeds or range(10)
        for dataset in arguments.sets or SETS
    ]

    with tempfile.TemporaryDirectory() as folder:
        of_set = functools.cache(partial(worker_of, Path(folder), data=arguments.data))

        def run(spec: Spec) -> dict[str, Any]:
            return {"files": files(spec, of_set(spec.dataset))}

        return runner.run_all(name, specs, run, table)


def files(spec: Spec, worker: Worker) -> list[dict[str, Any]]:
    """Predicted and real bytes of random settings."""
    random = np.random.default_rng(spec.seed)
    found: list[dict[str, Any]] = []
    least = worker.fitting.smallest()[0]
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=spec.seed))
    while len(found) < DRAWN:
        low, high = (math.log(size) for size in BUDGETS)
        budget = int(math.exp(random.uniform(low, high)))
        if budget < least:
            continue
        fit = partial(worker.fitting.most, budget=budget)
        setting = suggest(study.ask(), budget, worker.facts, fit)
        if setting is None:
            continue
        try:
            setting, words = worker.fitting.words(setting, budget)
        except ValueError:  # as in a search, where such a trial fails: its words are too few
            continue
        known = sample_words(setting.words)  # in slots, any words take as many bytes
        if setting.stored == "fingerprints" and isinstance(words, Vocabulary):
            known = list(words.words)  # whose search may take another step
        file = worker.fitting.sizes.convert(setting, known)
        found.append(
            {
                "budget": budget,
                "method": setting.method,
                "stored": setting.stored,
                "label": setting.label,
                "predicted": worker.fitting.bytes(setting, words),
                "bytes": len(file),
                "all_words": _all_words(worker, setting),
            }
        )
    return found


def _all_words(worker: Worker, setting: Any) -> bool:
    """Whether the setting has every word that there is, so that bytes are left."""
    known = len(worker.corpus.tokens(setting.rules).vocabulary)
    return setting.stored != "buckets" and setting.words >= 0.99 * known


def worker_of(folder: Path, dataset: str, data: str | None) -> Worker:
    """Worker of a data set, whose full tables and measured graphs serve all its rows."""
    folder = folder / dataset
    folder.mkdir()
    loaded = datasets.load(dataset, data)
    texts = [*loaded.train.texts, *loaded.dev.texts]
    labels = np.concatenate([loaded.train.labels, loaded.dev.labels])
    names, count = tuple(loaded.label_names), len(loaded.train.texts)
    task = Task(dataset, BUDGETS, names, count, "accuracy", 0, False, "", "")
    task.save(folder, texts, labels)
    return Worker(folder)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: errors of the prediction for each way to store words, and the use of budgets."""
    every = [file for row in rows for file in row["files"]]
    lines = [
        "| words | files | methods | largest error % | below the file by at most, B "
        "| over the budget | budget used, median % | least % |",
        "|" + "---|" * 8,
    ]
    for stored in (*sorted({file["stored"] for file in every}), "all"):
        files = [file for file in every if stored in (file["stored"], "all")]
        errors = [abs(file["predicted"] / file["bytes"] - 1) for file in files]
        below = max(file["bytes"] - file["predicted"] for file in files)
        over = sum(file["bytes"] > file["budget"] for file in files)
        used = [file["bytes"] / file["budget"] for file in files if not file["all_words"]]
        methods = len({file["method"] for file in files})
        cells = [stored, str(len(files)), str(methods), f"{100 * max(errors):.2f}", str(below)]
        shown = (
            [f"{100 * share:.1f}" for share in (float(np.median(used)), min(used))] if used else []
        )
        cells += [str(over), *(shown or ["-", "-"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
