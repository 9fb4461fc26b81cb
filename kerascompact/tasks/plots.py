"""Pictures of results. Needs matplotlib (`pip install 'kerascompact[plot]'`)."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kerascompact.core import checks, files
from kerascompact.core.extras import require
from kerascompact.tasks.methods import METHODS

# Okabe & Ito's colours, told apart with any colour vision; the marker says it once more.
STYLES = {
    "standard": ("#0072B2", "o"),
    "cluster": ("#E69F00", "s"),
    "adjustment": ("#009E73", "^"),
    "mixture": ("#D55E00", "D"),
}
FORMATS = (".png", ".svg", ".pdf")
OTHERS = (("#CC79A7", "v"), ("#56B4E9", "P"), ("#000000", "X"), ("#888888", "*"))


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
    checks.choice("suffix of path", Path(path).suffix.lower(), FORMATS)
    groups = _groups(rows, "file_bytes", "file_accuracy")
    require("matplotlib", "plot")
    figures = require("matplotlib.figure", "plot")
    # A bare figure draws on matplotlib's own canvas (Agg for .png), whatever screen there is.
    figure = figures.Figure(figsize=(7.2, 4.6), layout="constrained")
    axes = figure.subplots()
    others = iter(OTHERS * len(groups))
    for method, points in groups.items():
        label = METHODS[method].abbreviation if method in METHODS else method
        colour, marker = STYLES.get(method) or next(others)
        in_bytes, accuracies, spreads = zip(*points, strict=True)
        sizes = [size / 1024 for size in in_bytes]
        axes.errorbar(
            sizes, accuracies, yerr=spreads if any(spreads) else None, label=label, color=colour,
            marker=marker, markersize=8, markeredgecolor="white", linewidth=1.5, capsize=3,
        )  # fmt: skip
        for size, accuracy in zip(sizes, accuracies, strict=True):
            place = dict(xytext=(8, 7), textcoords="offset points")
            axes.annotate(f"{accuracy:.1f} %", (size, accuracy), color=colour, fontsize=9, **place)
    _dress(axes, groups, title)
    return save(figure, path)


def accuracy_against_entries(
    rows: Sequence[dict[str, Any]], path: str | os.PathLike[str], title: str
) -> Path:
    """Draws accuracy over the trained entries of a word, on average, a band for the spread.

    Args:
        rows: Results, each with "method", "entries" and "accuracy" (a share), and if known
            "spread", the accuracy's standard deviation. Rows of one method are joined by a line.
        path: The picture, `.png`, `.svg` or `.pdf`; written whole or not at all.
        title: Stands above.

    Returns: The path written.

    Raises: ImportError, without matplotlib; ValueError, if there are no rows, one lacks a number,
        or the ending of `path` names no format.

    Reference: [Demeester et al., CoNLL 2018](https://aclanthology.org/K18-1032), Figure 3.
    """
    checks.choice("suffix of path", Path(path).suffix.lower(), FORMATS)
    groups = _groups(rows, "entries", "accuracy")
    require("matplotlib", "plot")
    figure = require("matplotlib.figure", "plot").Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    others = iter(OTHERS * len(groups))
    for method, points in groups.items():
        label = METHODS[method].abbreviation if method in METHODS else method
        colour, marker = STYLES.get(method) or next(others)
        entries, accuracies, spreads = (list(column) for column in zip(*points, strict=True))
        axes.plot(entries, accuracies, label=label, color=colour, marker=marker, markersize=7)
        low, high = (
            [accuracy + sign * spread for accuracy, spread in zip(accuracies, spreads, strict=True)]
            for sign in (-1, 1)
        )
        axes.fill_between(entries, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set_xlabel("trained entries of a word, on average")
    axes.set_ylabel("test accuracy, %")
    plain(axes, title)
    return save(figure, path)


def _groups(
    rows: Sequence[dict[str, Any]], x: str, y: str
) -> dict[str, list[tuple[float, float, float]]]:
    """Method -> points (`x`, accuracy in percent, spread in percent), smallest first."""
    if not rows:
        checks.fail("rows", "a list of at least one row of results", rows)
    groups: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        size = checks.number(x, row.get(x), above=0)
        accuracy = checks.number(y, row.get(y))
        spread = checks.number("spread", row.get("spread") or 0.0)
        points = groups.setdefault(str(row.get("method")), [])
        points.append((size, 100 * accuracy, 100 * spread))
    return {method: sorted(points) for method, points in groups.items()}


def _dress(axes: Any, groups: dict[str, list[tuple[float, float, float]]], title: str) -> None:
    ticker = require("matplotlib.ticker", "plot")
    sizes = [size / 1024 for points in groups.values() for size, _, _ in points]
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
    plain(axes, title)


def plain(axes: Any, title: str) -> None:
    """What all pictures have: a title at the left, a light grid, a legend without a frame."""
    axes.set_title(title, loc="left", fontsize=11, parse_math=False)  # it may name a file
    axes.grid(True, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="best")


def save(figure: Any, path: str | os.PathLike[str]) -> Path:
    """Writes a figure in the format of the path's suffix; the same figure gives the same bytes."""
    picture, format_ = io.BytesIO(), Path(path).suffix.lower()[1:]
    dated = {"svg": "Date", "pdf": "CreationDate"}.get(format_)
    with require("matplotlib", "plot").rc_context({"svg.hashsalt": "kerascompact"}):
        figure.savefig(picture, format=format_, dpi=150, metadata={dated: None} if dated else None)
    return files.write_bytes(path, picture.getvalue())
