"""Pictures of results. Needs matplotlib (`pip install 'kerascompact[plot]'`)."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kerascompact.core import checks, files
from kerascompact.core.extras import require

# Okabe & Ito's colours, told apart with any colour vision; the marker says it once more.
STYLES = {
    "standard": ("SE", "#0072B2", "o"),
    "cluster": ("CE", "#E69F00", "s"),
    "adjustment": ("CAE", "#009E73", "^"),
    "mixture": ("ME", "#D55E00", "D"),
}
_OTHERS = (("#CC79A7", "v"), ("#56B4E9", "P"), ("#000000", "X"), ("#888888", "*"))


def accuracy_against_bytes(
    rows: Sequence[dict[str, Any]], path: str | os.PathLike[str], title: str
) -> Path:
    """Draws accuracy over the size of the file, a colour for each method, and writes a picture.

    Args:
        rows: Results, each with "method", "file_bytes" and "file_accuracy" (a share), and if known
            "spread", the standard deviation of the accuracy, drawn as an error bar. Rows of one
            method are joined by a line in order of bytes.
        path: The picture, `.png`, `.svg` or `.pdf`; written whole or not at all.
        title: Stands above.

    Returns: The path written.

    Raises: ImportError, without matplotlib; ValueError, if there are no rows, one lacks a number,
        or the ending of `path` names no format.
    """
    suffix = Path(path).suffix.lower()
    checks.choice("suffix of path", suffix, (".png", ".svg", ".pdf"))
    groups = _groups(rows)
    require("matplotlib", "plot")
    figures = require("matplotlib.figure", "plot")
    # A bare figure draws on matplotlib's own canvas (Agg for .png), whatever screen there is.
    figure = figures.Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    others = iter(_OTHERS * len(groups))
    for method, points in groups.items():
        label, colour, marker = STYLES.get(method) or (method, *next(others))
        sizes, accuracies, spreads = zip(*points, strict=True)
        axes.errorbar(
            sizes, accuracies, yerr=spreads if any(spreads) else None, label=label, color=colour,
            marker=marker, markersize=8, markeredgecolor="white", linewidth=1.5, capsize=3,
        )  # fmt: skip
        for size, accuracy, _ in points:
            place = dict(xytext=(8, 7), textcoords="offset points")
            axes.annotate(f"{accuracy:.1f} %", (size, accuracy), color=colour, fontsize=9, **place)
    _dress(axes, groups, title)
    picture = io.BytesIO()
    figure.savefig(picture, format=suffix[1:], dpi=150)
    return files.write_bytes(path, picture.getvalue())


def _groups(rows: Sequence[dict[str, Any]]) -> dict[str, list[tuple[float, float, float]]]:
    """Method -> points (KiB, accuracy in percent, spread in percent), smallest file first."""
    if not rows:
        checks.fail("rows", "a list of at least one row of results", rows)
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        size = checks.number("file_bytes", row.get("file_bytes"), above=0)
        accuracy = checks.number("file_accuracy", row.get("file_accuracy"))
        spread = checks.number("spread", row.get("spread") or 0.0)
        points = groups.setdefault(str(row.get("method")), [])
        points.append((size / 1024, 100 * accuracy, 100 * spread))
    return {method: sorted(points) for method, points in groups.items()}


def _dress(axes: Any, groups: dict[str, list[tuple[float, float, float]]], title: str) -> None:
    ticker = require("matplotlib.ticker", "plot")
    sizes = [size for points in groups.values() for size, _, _ in points]
    axes.set_xscale("log", base=2)
    axes.set_xlim(min(sizes) / 1.5, max(sizes) * 1.5)
    accuracies = [accuracy for points in groups.values() for _, accuracy, _ in points]
    centre = (min(accuracies) + max(accuracies)) / 2
    half = max(4.0, 0.75 * (max(accuracies) - min(accuracies)))  # noise must not look like a cliff
    axes.set_ylim(centre - half, centre + half)
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda size, _: f"{size:g}"))
    axes.xaxis.set_minor_locator(ticker.NullLocator())
    axes.set_xlabel("file, KiB (log scale)")
    axes.set_ylabel("test accuracy of the file, %")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(True, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")
