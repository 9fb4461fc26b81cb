"""Accuracy as the alphabet and the code grow, for a sum and for an LSTM: Figure 4 of KD encoding.

The paper varies K and D of the codes of a language model. This does so for the mean of the words'
vectors on two small sets: one of K and D grows while the other stays. All else is alike, nothing
was tuned; the epoch that is best on dev is measured on test, once. Batch normalization stands
behind the composition, as in the paper's code.
"""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results
from benchmarks.lib.runner import with_seeds
from benchmarks.lib.text_runs import Spec, run_all
from kerascompact.core.extras import require
from kerascompact.tasks import plots

BASES = (
    Spec("clinc150", "kd", "mean", size=1900, length=32, width=64, epochs=6, batch_size=128),
    Spec("trec", "kd", "mean", size=3000, length=24, width=64, epochs=6, batch_size=64),
)
MIDDLE = (8, 4)  # K and D
SIZES = tuple((k, MIDDLE[1]) for k in (4, 8, 16, 32)) + tuple((MIDDLE[0], d) for d in (2, 8, 16))
STYLES = {"sum": ("#0072B2", "o"), "lstm": ("#D55E00", "D")}  # of a composition
RATE = 0.01


def spec_of(base: Spec, composition: str, cardinality: int, code_length: int) -> Spec:
    """A point of the figure."""
    sizes = {"cardinality": cardinality, "code_length": code_length}
    options = {**sizes, "composition": composition, "batch_norm": True}
    return base._replace(learning_rate=RATE, options=options)


def specs(seeds: Iterable[int] = SEEDS) -> list[Spec]:
    """Every point of the figure, seed by seed."""
    found = [spec_of(base, name, *size) for base in BASES for name in STYLES for size in SIZES]
    return with_seeds(found, tuple(seeds))


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, and draws all rows beside them."""
    wanted = specs(arguments.seeds or SEEDS)
    rows = run_all(wanted, name, arguments.data, verbose=arguments.verbose)
    print(f"drawn: {draw(rows, results.path(name).with_suffix('.png'))}")
    return rows


def sizes_of(row: dict[str, Any]) -> tuple[int, int]:
    """K and D of a row."""
    options = row["spec"]["options"]
    return options["cardinality"], options["code_length"]


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each set, K and D; a sum beside an LSTM."""
    groups = {
        (group[0]["spec"]["dataset"], *sizes_of(group[0]), composition(group[0])): group
        for group in results.by_seed(rows)
    }
    lines = [
        "| data set | K | D | bits of a code | seeds | dev: sum | LSTM | test: sum | LSTM |",
        "|" + "---|" * 9,
    ]
    for dataset, k, d in sorted({key[:3] for key in groups}, key=_place):
        pair = [groups.get((dataset, k, d, name), []) for name in STYLES]
        cells = [dataset, str(k), str(d), str(d * (k - 1).bit_length()), str(max(map(len, pair)))]
        for key in ("dev_accuracy", "file_accuracy"):
            cells += [results.percent(group, key) if group else "-" for group in pair]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def composition(row: dict[str, Any]) -> str:
    """What reads the codes of a row."""
    return row["spec"]["options"]["composition"]


def _place(point: tuple[str, int, int]) -> tuple[int, int]:
    """Where in the table: sets and sizes in the order above."""
    return [base.dataset for base in BASES].index(point[0]), SIZES.index(point[1:])


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path:
    """Draws accuracy on test over K (left) and over D (right), a row of plots for each set.

    Raises: ImportError, without matplotlib.
    """
    sets = list(dict.fromkeys(row["spec"]["dataset"] for row in rows))
    figures = require("matplotlib.figure", "plot")
    figure = figures.Figure(figsize=(9, 3.4 * len(sets)), layout="constrained")
    panels = figure.subplots(len(sets), 2, squeeze=False, sharey="row")
    for dataset, pair in zip(sets, panels, strict=True):
        for axis, axes in enumerate(pair):
            fixed = MIDDLE[1 - axis]
            for name, (colour, marker) in STYLES.items():
                group = [
                    row
                    for row in rows
                    if row["spec"]["dataset"] == dataset
                    and composition(row) == name
                    and sizes_of(row)[1 - axis] == fixed
                ]
                points = sorted(_points(group, axis))
                if points:
                    axes.errorbar(
                        *zip(*points, strict=True), label=name, color=colour, marker=marker,
                        capsize=3,
                    )  # fmt: skip
            axes.set_xscale("log", base=2)
            ticks = sorted({size[axis] for size in SIZES if size[1 - axis] == fixed})
            axes.set_xticks(ticks, [str(tick) for tick in ticks])
            axes.set_xlabel("KD"[axis])
            plots.plain(axes, f"{dataset}, {'DK'[axis]} = {fixed}")
        pair[0].set_ylabel("test accuracy, %")
    return plots.save(figure, path)


def _points(group: Sequence[dict[str, Any]], axis: int) -> list[tuple[int, float, float]]:
    """K or D, mean accuracy on test in percent, and standard deviation."""
    found = []
    for seeds in results.by_seed(group):
        accuracy, deviation = results.spread(seeds, "file_accuracy")
        found.append((sizes_of(seeds[0])[axis], 100 * accuracy, 100 * deviation))
    return found
