"""The cluster paper's curves: accuracy over size, m, u, v, k and training data.

`ag_news_curves`: Figures 2 and 3 of [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116),
on dev, of one seed; `dbpedia_curves`: Figure 2. `imdb_shares`: Figure 4, on test, three seeds;
`ag_news_shares`: the same of AG News. Trained as in the experiments whose runs are points here.
"""

import argparse
import dataclasses
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.clusters.cluster_paper import (
    AG_NEWS,
    AG_NEWS_SIZES,
    DBPEDIA,
    DBPEDIA_SIZES,
    IMDB_TABLE_3,
    SEEDS,
    sized,
    with_scale,
)
from benchmarks.lib import results, runner, text_runs
from benchmarks.lib.text_runs import Spec
from kerascompact import datasets
from kerascompact.core.extras import require
from kerascompact.datasets.base import Dataset
from kerascompact.datasets.splitting import hold_out
from kerascompact.tasks import plots
from kerascompact.tasks.classification import encode
from kerascompact.tasks.methods import METHODS

Size = tuple[int, int, int, int]  # v, m, k, u


def of(method: str, *sizes: Size, base: Spec = AG_NEWS) -> list[Spec]:
    """A method's runs on a data set."""
    return sized(with_scale(base, method), method, sizes)


# Two sizes at each of 0.05 and 0.1 MB, as in Table 2; one at 0.07 and one at 0.2. Clusters alone
# have none at 0.2, which they do not fill, and one of those at 0.1 MB takes 0.068.
CURVE = [spec for (method, _), sizes in AG_NEWS_SIZES.items() for spec in of(method, *sizes)] + [
    *of("standard", (2440, 3, 0, 0), (8200, 5, 0, 0)),
    *of("adjustment", (5800, 4, 32, 0), (20000, 8, 100, 0)),
    *of("mixture", (15000, 5, 100, 500), (20000, 8, 100, 4400)),
]
# Those of Table 2, then two at 0.07 and two at 0.15 to 0.2 MB; one more of clusters alone.
DBPEDIA_CURVE = [
    *(
        spec
        for (method, _), sizes in DBPEDIA_SIZES.items()
        for spec in of(method, *sizes, base=DBPEDIA)
    ),
    *of("standard", (2300, 3, 0, 0), (8000, 5, 0, 0), base=DBPEDIA),
    *of("cluster", (20000, 5, 100, 0), base=DBPEDIA),
    *of("adjustment", (5500, 4, 32, 0), (20000, 8, 100, 0), base=DBPEDIA),
    *of("mixture", (15000, 5, 100, 500), (20000, 8, 100, 4400), base=DBPEDIA),
]
FIGURES: dict[str, tuple[str, list[Spec]]] = {  # what grows along the curve, and its runs
    "2": ("model_mb", CURVE),
    "2, DBpedia": ("model_mb", DBPEDIA_CURVE),
    "3a": ("width", of("standard", *((5070, m, 0, 0) for m in (1, 2, 3, 5, 8)))),
    "3b": (
        "unique",
        of("cluster", (5000, 4, 32, 0))
        + of("mixture", *((5000, 4, 32, u) for u in (100, 250, 1000, 2500))),
    ),
    "3c": ("size", of("cluster", *((v, 5, 32, 0) for v in (1000, 3000, 9800, 20000)))),
    "3d": ("clusters", of("cluster", *((9800, 5, k, 0) for k in (4, 12, 32, 100)))),
}
NAMES = {
    "model_mb": "model, MB by the paper's formula",
    "width": "m, numbers of a vector (SE, v = 5,070)",
    "unique": "u, unique vectors (ME, v = 5,000, m = 4, k = 32)",
    "size": "v, words (CE, m = 5, k = 32)",
    "clusters": "k, clusters (CE, v = 9,800, m = 5)",
    "share": "share of the training data, %",
}

SHARES = (0.1, 0.25, 0.5, 1.0)
AT_FULL: dict[str, tuple[Spec, ...]] = {
    "ag_news_shares": (  # as chosen on dev for 0.05 MB
        *of("standard", (1150, 2, 0, 0)),
        *of("cluster", (9800, 5, 32, 0)),
        *of("adjustment", (1550, 3, 32, 0)),
        *of("mixture", (5000, 4, 32, 250)),
    ),
    "imdb_shares": IMDB_TABLE_3,
}
# The experiments whose rows are points of these curves.
KNOWN = {
    "ag_news_curves": "ag_news_dev",
    "dbpedia_curves": "dbpedia_subset",
    "ag_news_shares": "ag_news",
    "imdb_shares": "imdb",
}


def part(spec: Spec, share: float) -> dict[str, Any]:
    """A run on a part of the training data: half of the data, 1.4 times the epochs.

    >>> part(AG_NEWS, 0.25)["epochs"], AG_NEWS.epochs
    (12, 6)
    """
    epochs = math.ceil(spec.epochs / math.sqrt(share))
    return {**spec._replace(epochs=epochs)._asdict(), "share": share}


def cut(data: Dataset, share: float, seed: int) -> Dataset:
    """A share of the training rows, of each class in proportion; dev and test as they are.

    >>> from kerascompact import datasets
    >>> len(cut(datasets.load(), 0.1, seed=0).train.texts)
    1500
    """
    if share == 1:
        return data
    _, kept = hold_out(data.train, round(share * len(data.train.texts)), seed)
    return dataclasses.replace(data, train=kept)


def run(
    facts: dict[str, Any], whole: Dataset, known_of: str, test: bool, verbose: int = 0
) -> dict[str, Any]:
    """The row of a run: that of the experiment `known_of`, if it has one."""
    share = facts.get("share", 1)
    spec = Spec(**{key: value for key, value in facts.items() if key != "share"})
    known = results.find(known_of, runner.facts(spec))
    if known and share == 1:
        return known
    data = encode(cut(whole, share, spec.seed), spec.size, spec.length, spec.rules)
    return text_runs.run(spec, data, test=test, jit_compile=True, verbose=verbose)


def planned(name: str, seeds: Sequence[int] | None = None) -> list[dict[str, Any]]:
    """The runs of an experiment; a share is read on test, a figure of sizes on dev, of one seed."""
    if name in AT_FULL:
        seeded = runner.with_seeds(AT_FULL[name], seeds or SEEDS)
        return [part(spec, share) for share in SHARES for spec in seeded]
    figures = [specs for key, (_, specs) in FIGURES.items() if name == _experiment(key)]
    return [spec._asdict() for specs in figures for spec in specs]


def _experiment(figure: str) -> str:
    return "dbpedia_curves" if figure.endswith("DBpedia") else "ag_news_curves"


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, and draws the curves."""
    specs = planned(name, arguments.seeds)
    loaded = functools.cache(lambda: datasets.load(specs[0]["dataset"], arguments.data))

    def one(facts: dict[str, Any]) -> dict[str, Any]:
        return run(facts, loaded(), KNOWN[name], name in AT_FULL, arguments.verbose)

    runner.run_all(name, specs, one, table)
    draw(results.rows(name), results.path(name).with_suffix(".png"))
    return results.rows(name)


def points(rows: Sequence[dict[str, Any]], figure: str) -> list[dict[str, Any]]:
    """Rows of a figure, in the order of its runs."""
    wanted = [runner.facts(spec) for spec in FIGURES[figure][1]]
    return [row for spec in wanted for row in rows if row["spec"] == spec]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each point of each curve."""
    if "share" in rows[0]["spec"]:
        return _shares(rows)
    lines = ["| figure | model | dev | model MB, paper |", "|---|---|---|---|"]
    for figure in FIGURES:
        for row in points(rows, figure):
            accuracy = results.percent([row], "dev_accuracy")
            lines.append(f"| {figure} | {row['label']} | {accuracy} | {row['model_mb']:.3f} |")
    return "\n".join(lines)


def _shares(rows: Sequence[dict[str, Any]]) -> str:
    lines = ["| model | seeds | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |"]
    lines.append("|" + "---|" * (2 + len(SHARES)))
    seeded = results.by_seed(rows)
    groups = {(group[0]["label"], group[0]["spec"]["share"]): group for group in seeded}
    for label in dict.fromkeys(label for label, _ in groups):
        found = [groups.get((label, share), []) for share in SHARES]
        counts = sorted({len(group) for group in found if group})
        seeds = " to ".join(map(str, counts[:1] + counts[1:][-1:]))
        cells = [results.percent(group, "file_accuracy") if group else "-" for group in found]
        lines.append("| " + " | ".join([label, seeds, *cells]) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path | None:
    """Draws a plot for each figure; `None` without matplotlib."""
    try:
        figures = require("matplotlib.figure", "plot")
    except ImportError:
        return None
    if "share" in rows[0]["spec"]:
        panels = [("4", "share", rows)]
    else:
        every = [(figure, key, points(rows, figure)) for figure, (key, _) in FIGURES.items()]
        panels = [panel for panel in every if panel[2]]
    columns = min(3, len(panels))
    lines = math.ceil(len(panels) / columns)
    drawn = figures.Figure(figsize=(4.6 * columns, 3.7 * lines), layout="constrained")
    grid = drawn.subplots(lines, columns, squeeze=False).flatten()
    for axes, (figure, key, shown) in zip(grid, panels, strict=False):
        _panel(axes, key, shown)
        plots.plain(axes, f"Figure {figure}")
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return plots.save(drawn, path)


def _panel(axes: Any, key: str, rows: Sequence[dict[str, Any]]) -> None:
    accuracy = "file_accuracy" if key == "share" else "dev_accuracy"
    curves: dict[str, list[tuple[float, ...]]] = {}
    for group in results.by_seed(rows):
        row = group[0]
        method = "mixture" if key == "unique" else row["spec"]["method"]  # u = 0: clusters alone
        place = row[key] if key == "model_mb" else row["spec"][key]
        place *= 100 if key == "share" else 1
        spread = (100 * one for one in results.spread(group, accuracy))
        curves.setdefault(method, []).append((place, *spread))
    for method, found in curves.items():
        colour, marker = plots.STYLES[method]
        label = METHODS[method].abbreviation
        if key == "model_mb":  # settings of one size: the line joins the best so far
            ordered = sorted(found)
            places, scores, _ = zip(*ordered, strict=True)
            axes.scatter(places, scores, color=colour, marker=marker, s=18, alpha=0.5)
            found = [
                point for at, point in enumerate(ordered) if point[1] > max(scores[:at], default=0)
            ]
        places, scores, deviations = zip(*sorted(found), strict=True)
        axes.errorbar(places, scores, deviations, color=colour, marker=marker, label=label)
    if key == "unique":
        axes.set_xscale("symlog", linthresh=100)  # 0 is one of the points
    elif key in ("size", "clusters"):
        axes.set_xscale("log")
    low, high = axes.get_ylim()
    half = max(2.0, (high - low) / 2)  # noise must not look like a cliff
    axes.set_ylim((low + high) / 2 - half, (low + high) / 2 + half)
    axes.set_xlabel(NAMES[key])
    axes.set_ylabel("test accuracy, %" if key == "share" else "dev accuracy, %")
