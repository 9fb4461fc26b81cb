"""Accuracy within a budget of bytes, text in and the whole file counted, beside fastText's.

Each arm tries all its settings and keeps, for every budget, the one that is best on dev; that one
is trained with each seed, and the test split is read once a file. `budgets` is CLINC150 and
TREC; `budgets_long` the news and the reviews, whose runs take longer.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clusters.cluster_paper import KIB, SEEDS
from benchmarks.lib import results
from benchmarks.product.budget_models import Config, Models, mixture
from benchmarks.product.fasttext_files import Files, Setting
from kerascompact import datasets

BUDGETS = (16, 32, 64, 128)  # KiB
SPARE = 1 / 64  # of a budget: with another seed other n-grams are kept, whose words are longer
SETS = {"budgets": ("clinc150", "trec"), "budgets_long": ("ag_news", "imdb")}
LENGTHS = {"clinc150": 32, "trec": 40, "ag_news": 100, "imdb": 400}
MAX_BYTES = {"clinc150": 256, "trec": 256, "ag_news": 2048, "imdb": 16_384}  # no file is larger
BY_COUNT: dict[str, Any] = {"chosen": "count"}
KNOWN: dict[str, Any] = {**BY_COUNT, "skip": True}
LONG: dict[str, Any] = {**KNOWN, "epochs": 5, "tuning_epochs": 1}  # more texts, and longer ones
PAIRS: dict[str, Any] = {"chosen": "norm", "skip": True, "rules": "wordpunct_pairs", "epochs": 25}
OFTEN_DROPPED: dict[str, Any] = {**PAIRS, "dropout": 0.7, "batch_size": 64}
SLOW: dict[str, Any] = {"rate": 5e-3, "dropout": 0.5, "batch_size": 64, "epochs": 25}
CONFIGS = {
    "clinc150": (
        Config(265, 12, **BY_COUNT),
        Config(255, 12, **KNOWN),
        Config(162, 16, **KNOWN),
        Config(1035, 24, **BY_COUNT),
        Config(1025, 24, **KNOWN),
        Config(750, 32, **KNOWN),
        Config(1600, 48, **BY_COUNT),
        Config(1590, 48, **KNOWN),
        mixture(4500, 32, 150, 800),
        Config(5080, 32, **BY_COUNT),
        Config(3900, 48, **BY_COUNT),
        Config(3890, 48, **KNOWN),
    ),
    "trec": (
        Config(565, 16, **BY_COUNT),
        Config(555, 16, **KNOWN),
        Config(555, 16, chosen="norm", skip=True),
        Config(250, 8, (1, 2, 3, 16), **BY_COUNT),
        Config(1550, 12, (1, 2, 3, 32), chosen="norm"),
        Config(1550, 12, (1, 2, 3, 32), **BY_COUNT),
        Config(3710, 16, (1, 2, 3, 48), chosen="norm"),
        Config(3710, 16, (1, 2, 3, 48), **BY_COUNT),
        Config(7000, 16, (1, 2, 3, 64)),
        Config(1550, 12, (1, 2, 3, 32), chosen="norm", **SLOW),
        Config(3710, 16, (1, 2, 3, 48), chosen="norm", **SLOW),
        Config(740, 8, **PAIRS, dropout=0.6),
        Config(740, 8, **OFTEN_DROPPED),
        Config(1790, 16, **OFTEN_DROPPED),
        Config(2690, 8, **PAIRS, dropout=0.6),
        Config(3900, 16, **PAIRS, dropout=0.6),
        Config(6600, 8, **OFTEN_DROPPED),
        Config(14_500, 8, **OFTEN_DROPPED),
    ),
    "ag_news": (
        Config(1100, 4, **LONG),
        Config(800, 8, **LONG),
        Config(2800, 8, **LONG),
        Config(6800, 8, **LONG),
        Config(14_800, 8, **LONG),
        Config(9800, 16, **LONG),
    ),
    "imdb": (
        Config(1100, 4, **LONG),
        Config(800, 8, **LONG),
        Config(2800, 8, **LONG),
        Config(6800, 8, **LONG),
        Config(14_800, 8, **LONG),
        Config(12_950, 8, **LONG, rules="wordpunct_pairs", fingerprint_bits=40),
    ),
}
# Dims, n-grams and cutoffs. 150 vectors of classes are too few for fastText's `qout`.
SHAPES = (
    (4, 2, (280, 300)),
    (8, 1, (500,)),
    (8, 2, (500, 830, 1500, 2800, 6500)),
    (16, 1, (1250, 1500, 4500)),
    (16, 2, (500, 1500, 4000)),
)
EPOCHS = {"budgets": (40,), "budgets_long": (5, 10, 25)}  # of fastText, with each of its rates
RATES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0)


def peers(name: str) -> list[Setting]:
    """What fastText chooses from."""
    return [
        Setting(dim, ngrams, cutoff, epochs, rate)
        for dim, ngrams, cutoffs in SHAPES
        for cutoff in cutoffs
        for epochs in EPOCHS[name]
        for rate in RATES
    ]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet; `NAME_dev` has the rows of all settings."""
    name = name.removesuffix("_dev")
    for dataset in SETS[name]:
        loaded = datasets.load(dataset, arguments.data)
        ours = Models(loaded, CONFIGS[dataset], LENGTHS[dataset], MAX_BYTES[dataset])
        run(ours, name, arguments.seeds or SEEDS)
        with tempfile.TemporaryDirectory() as folder:
            try:
                peer = Files(loaded, peers(name), Path(folder))
            except ImportError as error:
                print(f"fastText is left out. {error}", flush=True)
                continue
            run(peer, name, arguments.seeds or SEEDS)
    return results.rows(name)


def run(arm: Models | Files, name: str, seeds: Sequence[int]) -> None:
    """Chooses on dev for every budget, then measures test with every seed."""
    of_arm = {"dataset": arm.dataset.name, "arm": arm.arm}
    tried = []
    for setting in arm.settings:
        spec = {**of_arm, **setting._asdict()}
        if results.find(f"{name}_dev", spec) is None:
            for row in arm.on_dev(setting):  # type: ignore[arg-type]
                results.append(f"{name}_dev", {"spec": spec, **row})
        wanted = json.loads(json.dumps(spec))
        tried += [(setting, row) for row in results.rows(f"{name}_dev") if row["spec"] == wanted]
    for budget in BUDGETS:
        fitting = [one for one in tried if one[1]["bytes"] <= budget * KIB * (1 - SPARE)]
        if not fitting:
            smallest = min(row["bytes"] for _, row in tried)
            spec = {**of_arm, "budget": budget}
            if results.find(name, spec) is None:
                row = {"label": "none", "bytes": smallest, "dev_accuracy": None}
                results.append(name, {"spec": spec, **row, "file_accuracy": None})
            continue
        setting, best = max(fitting, key=lambda one: (one[1]["dev_accuracy"], -one[1]["bytes"]))
        for seed in seeds:
            spec = {**of_arm, "budget": budget, **setting._asdict()}
            spec |= {"recipe": best["recipe"], "seed": seed}
            if results.find(name, spec) is None:
                found = arm.on_test(setting, best["recipe"], seed)  # type: ignore[arg-type]
                row = {"spec": spec, "label": best["label"], **found}
                results.append(name, row)
                print(table([row]).splitlines()[-1], flush=True)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each budget and arm, mean and spread over seeds, the largest file."""
    lines = [
        "| data set | KiB | arm | chosen on dev | seeds | file B | dev | test |",
        "|" + "---|" * 8,
    ]
    for group in sorted(results.by_seed(rows), key=_place):
        spec, largest = group[0]["spec"], max(row["bytes"] for row in group)
        size = f"{largest:,}" if group[0]["dev_accuracy"] is not None else f"from {largest:,}"
        cells = [spec["dataset"], str(spec.get("budget", "-")), spec["arm"], group[0]["label"]]
        cells += [str(len(group)), size]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in ("dev", "file")]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(group: list[dict[str, Any]]) -> tuple[int, int, str]:
    """Where in the table: sets and budgets in order, ours first."""
    spec = group[0]["spec"]
    place = [*CONFIGS, spec["dataset"]].index(spec["dataset"])
    return place, spec.get("budget", 0), spec["arm"] != Models.arm
