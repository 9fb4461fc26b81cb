"""fastText's best of a grid within budgets of bytes, to compare `search` with.

Fourteen shapes with seven rates each, for longer texts with three numbers of epochs, too. For
every budget the file that is best on dev is trained with each seed, and test is read once a file.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clusters.cluster_paper import KIB, SEEDS
from benchmarks.lib import results
from benchmarks.product.fasttext_autotune import BUDGETS, SETS
from benchmarks.product.fasttext_files import Files, Setting
from kerascompact import datasets

SPARE = 1 / 64  # of a budget: with another seed other n-grams are kept, whose words are longer
# Dims, n-grams and cutoffs. 150 vectors of classes are too few for fastText's `qout`.
SHAPES = (
    (4, 2, (280, 300)),
    (8, 1, (500,)),
    (8, 2, (500, 830, 1500, 2800, 6500)),
    (16, 1, (1250, 1500, 4500)),
    (16, 2, (500, 1500, 4000)),
)
EPOCHS = {"ag_news": (5, 10, 25), "imdb": (5, 10, 25)}  # with each rate; of other sets 40
RATES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


def grid(dataset: str) -> list[Setting]:
    """What fastText chooses from.

    >>> len(grid("trec")), len(grid("imdb"))
    (98, 294)
    """
    return [
        Setting(dim, ngrams, cutoff, epochs, rate)
        for dim, ngrams, cutoffs in SHAPES
        for cutoff in cutoffs
        for epochs in EPOCHS.get(dataset, (40,))
        for rate in RATES
    ]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; `NAME_dev` has the rows of all settings."""
    for dataset in arguments.sets or SETS:
        loaded = datasets.load(dataset, arguments.data)
        with tempfile.TemporaryDirectory() as folder:
            run(Files(loaded, grid(dataset), Path(folder)), name, arguments.seeds or SEEDS)
    return results.rows(name)


def run(files: Files, name: str, seeds: Sequence[int]) -> None:
    """Chooses on dev for every budget, then measures test with every seed."""
    of_set = {"dataset": files.dataset.name}
    tried = []
    for setting in files.settings:
        spec = {**of_set, **setting._asdict()}
        if results.find(f"{name}_dev", spec) is None:
            for row in files.on_dev(setting):
                results.append(f"{name}_dev", {"spec": spec, **row})
        wanted = json.loads(json.dumps(spec))
        tried += [(setting, row) for row in results.rows(f"{name}_dev") if row["spec"] == wanted]
    for budget in BUDGETS:
        fitting = [one for one in tried if one[1]["bytes"] <= budget * KIB * (1 - SPARE)]
        if not fitting:
            smallest = min(row["bytes"] for _, row in tried)
            spec = {**of_set, "budget": budget}
            if results.find(name, spec) is None:
                row = {"label": "none", "bytes": smallest, "dev_accuracy": None}
                results.append(name, {"spec": spec, **row, "file_accuracy": None})
            continue
        setting, best = max(fitting, key=lambda one: (one[1]["dev_accuracy"], -one[1]["bytes"]))
        for seed in seeds:
            spec = {**of_set, "budget": budget, **setting._asdict(), "seed": seed}
            if results.find(name, spec) is None:
                row = {"spec": spec, "label": best["label"], **files.on_test(setting, seed)}
                results.append(name, row)
                print(table([row]).splitlines()[-1], flush=True)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each budget, mean and spread over seeds, the largest file."""
    lines = [
        "| data set | KiB | chosen on dev | seeds | file B | dev | test |",
        "|" + "---|" * 7,
    ]
    for group in sorted(results.by_seed(rows), key=_place):
        spec, largest = group[0]["spec"], max(row["bytes"] for row in group)
        size = f"{largest:,}" if group[0]["dev_accuracy"] is not None else f"from {largest:,}"
        cells = [spec["dataset"], str(spec["budget"]), group[0]["label"], str(len(group)), size]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in ("dev", "file")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(group: list[dict[str, Any]]) -> tuple[int, int]:
    """Where in the table: sets and budgets in order."""
    spec = group[0]["spec"]
    return [*SETS, spec["dataset"]].index(spec["dataset"]), spec["budget"]
