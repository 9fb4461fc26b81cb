"""Picture of a search: dev scores over bytes. Needs matplotlib."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kerascompact.core import checks
from kerascompact.core.extras import require
from kerascompact.search.runs import Run
from kerascompact.tasks.plots import FORMATS, plain, save

GREY, BLUE, ORANGE = "#BBBBBB", "#0072B2", "#D55E00"


def draw(
    trials: Sequence[Run],
    frontier: Sequence[Run],
    bests: Sequence[Any],
    path: str | os.PathLike[str],
    title: str,
) -> Path:
    """Draws every training in grey, the frontier as a line, and the chosen files.

    Args:
        trials: All trainings.
        frontier: Those that no smaller file beats.
        bests: The chosen files, `finishing.Best`.
        path: The picture, `.png`, `.svg` or `.pdf`; written in one step.
        title: Title of the picture.

    Returns: The path written.

    Raises: ImportError, without matplotlib; ValueError, for another ending.
    """
    checks.choice("suffix of path", Path(path).suffix.lower(), FORMATS)
    figure = require("matplotlib.figure", "plot").Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.scatter(*_points(trials), s=14, color=GREY, label="trainings")
    axes.step(*_points(frontier), where="post", color=BLUE, linewidth=1.2, label="frontier")
    for best in bests:
        size, score = len(best.file) / 1024, 100 * best.dev_score
        axes.plot([size], [score], marker="D", markersize=7, color=ORANGE, linestyle="none",
                  label="chosen: mean of its trainings" if best is bests[0] else None)  # fmt: skip
        axes.annotate(f"{score:.1f} %", (size, score), color=ORANGE, fontsize=9,
                      xytext=(7, -12), textcoords="offset points")  # fmt: skip
    axes.set_xscale("log", base=2)
    ticker = require("matplotlib.ticker", "plot")
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: f"{size:g}"))
    axes.set_xlabel("file, KiB (log scale)")
    axes.set_ylabel("dev score, %")
    plain(axes, title)
    return save(figure, path)


def _points(runs: Sequence[Run]) -> tuple[list[float], list[float]]:
    return [run.bytes / 1024 for run in runs], [100 * run.dev for run in runs]
