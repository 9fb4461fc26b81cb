"""Picture of the README: accuracy of whole files over their bytes, ours and fastText's.

`python -m benchmarks.product.picture` draws it anew from the rows of the benchmarks `budgets`,
`fasttext_grid` and `fasttext_autotune`, which made no file for some sizes.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.lib import results
from benchmarks.lib.experiments import ROOT
from benchmarks.product import budgets
from benchmarks.product.fasttext_autotune import BUDGETS
from kerascompact.core.extras import require
from kerascompact.tasks import plots

PICTURE = ROOT / "benchmarks" / "product" / "accuracy_over_bytes.svg"
TITLES = {"clinc150": "CLINC150, 150 intents", "trec": "TREC, 6 kinds of questions"}
STYLES = {
    "kerascompact": ("#D55E00", "D"),
    "fastText, a grid": ("#0072B2", "o"),
    "fastText, its own search": ("#009E73", "s"),
}


def points(dataset: str) -> dict[str, list[tuple[float, float, float]]]:
    """For each arm, its files by size: KiB, mean accuracy in percent, and standard deviation.

    Args:
        dataset: Name of a data set of both benchmarks.
    """
    ours = [
        (file["budget"] // 1024, file)
        for row in budgets.of_the_page()
        if row["spec"]["dataset"] == dataset
        for file in row["files"]
    ]
    theirs = [
        [
            (row["spec"]["budget"], row)
            for row in results.rows(name)
            if row["spec"]["dataset"] == dataset and row["file_accuracy"] is not None
        ]
        for name in ("fasttext_grid", "fasttext_autotune")
    ]
    return {arm: list(_means(files)) for arm, files in zip(STYLES, (ours, *theirs), strict=True)}


def _means(files: list[tuple[int, dict[str, Any]]]) -> Iterator[tuple[float, float, float]]:
    for budget in BUDGETS:
        group = [file for size, file in files if size == budget]
        if not group:
            continue
        accuracy, deviation = results.spread(group, "file_accuracy")
        yield mean(file["bytes"] for file in group) / 1024, 100 * accuracy, 100 * deviation


def draw(path: Path) -> Path:
    """Draws a panel for each data set and writes the picture, `.svg`, `.png` or `.pdf`."""
    figure = require("matplotlib.figure", "plot").Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(TITLES), sharex=True, sharey=True)
    for axes, (dataset, title) in zip(panels, TITLES.items(), strict=True):
        for arm, group in points(dataset).items():
            colour, marker = STYLES[arm]
            sizes, accuracies, deviations = zip(*group, strict=True)
            axes.errorbar(
                sizes, accuracies, deviations, label=arm, color=colour, marker=marker, capsize=3
            )
        axes.set_xscale("log", base=2)
        axes.set_xticks(BUDGETS, [str(budget) for budget in BUDGETS])
        axes.set_xlabel("the entire file, KiB (log scale)")
        plots.plain(axes, title)
    panels[0].set_ylabel("test accuracy of the file, %")
    return plots.save(figure, path)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture into the file that the README shows, or another."""
    parser = argparse.ArgumentParser("python -m benchmarks.product.picture", description=__doc__)
    parser.add_argument("--out", type=Path, default=PICTURE, help=".svg, .png or .pdf")
    print(draw(parser.parse_args(argv).out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
