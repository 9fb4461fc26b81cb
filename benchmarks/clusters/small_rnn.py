"""The cluster paper's look at tiny vectors: a simple RNN of two units, Table 5 and Figure 5.

Its words have 1, 2 or 3 numbers; the two numbers of the last state are drawn. The paper's Table 5
is of IMDB by its caption and of AG News, as Figure 5, by the text: here both are of both. Trained
as the LSTM of `imdb` and `ag_news`, on IMDB at 5e-3; the states drawn are of seed 0.

The recurrent kernel starts at the identity ([Le et al., 2015](https://arxiv.org/abs/1504.00941)):
from Keras' orthogonal start two of three seeds read a text's last words alone, which a row shows.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from benchmarks.clusters.cluster_paper import AG_NEWS, IMDB, SEEDS
from benchmarks.lib import results, runner, text_runs
from benchmarks.lib.text_runs import Spec
from kerascompact.core.extras import require
from kerascompact.datasets import ag_news
from kerascompact.tasks import plots
from kerascompact.tasks.classification import TextData, best_epoch, outputs_of
from kerascompact.tasks.measure import accuracy, size_up

BASES = (AG_NEWS, IMDB._replace(learning_rate=5e-3))
SPECS = [base._replace(model="rnn", width=width) for base in BASES for width in (1, 2, 3)]
SPECS.append(BASES[1]._replace(model="rnn_orthogonal", width=2))
CELLS = 100  # in each direction; the paper does not say how it measures the area
DRAWN = 500  # states of dev in a row


def run(spec: Spec, data: TextData, verbose: int = 0) -> dict[str, Any]:
    """Trains one model and returns its row: accuracies, the area and some states of dev."""
    start = time.perf_counter()
    model, history = text_runs.trained(spec, data, jit_compile=True, verbose=verbose)
    dev = history["val_accuracy"]
    last_state = keras.Model(model.inputs, model.get_layer("rnn").output)
    states = outputs_of(last_state, data.dev.ids)
    row = {
        "label": spec.label,
        "dev_accuracy": max(dev),
        "best_epoch": best_epoch(dev),
        "train_seconds": round(time.perf_counter() - start, 1),
        "area": area(states),
    }
    if spec.dataset == "ag_news" and spec.seed == 0:  # Figure 5; its rows are in no order
        row["states"] = np.round(states[:DRAWN].astype(float), 3).tolist()
        row["labels"] = data.dev.labels[:DRAWN].tolist()
    sizes, frozen = size_up(model, data, spec.recipe, spec.length)
    # 400 steps that forget nothing add up roundings: 2e-4 of a probability was seen.
    report = frozen.verify(data.test.ids, data.test.labels, tolerance=1e-3)
    return {
        **row,
        **sizes,
        "hard_accuracy": accuracy(model, data.test),
        "file_accuracy": report.file_accuracy,
        "argmax_agreement": report.agreement,
        "argmax_ties": report.ties,
        "largest_difference": report.largest_difference,
    }


def area(states: np.ndarray) -> float:
    """Share of the square `(-1, 1)^2`, cut into 100 x 100 cells, that has a state in it.

    >>> area(np.array([[0.999, 0.999], [0.9999, 0.9999], [-0.5, 0.5]]))
    0.0002
    """
    cells = np.clip(((states + 1) / 2 * CELLS).astype(int), 0, CELLS - 1)
    return len(np.unique(cells, axis=0)) / CELLS**2


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, and draws the states."""

    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, text_runs.load(spec, arguments.data), arguments.verbose)

    rows = runner.benchmark(name, SPECS, arguments, one, table, SEEDS)
    draw(rows, results.path(name).with_suffix(".png"))
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line for each data set and width."""
    lines = ["| data set | m | start | seeds | dev | test | file | area % | file B |"]
    lines.append("|" + "---|" * 9)
    for group in results.by_seed(list(rows)):
        first, spec = group[0], group[0]["spec"]
        start = spec["model"].removeprefix("rnn").removeprefix("_") or "identity"
        cells = [spec["dataset"], str(spec["width"]), start, str(len(group))]
        cells += [results.percent(group, f"{kind}_accuracy") for kind in ("dev", "hard", "file")]
        cells += [results.percent(group, "area"), f"{first['file_bytes']:,}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw(rows: Sequence[dict[str, Any]], path: Path) -> Path | None:
    """Figure 5: last states of AG News' dev texts, coloured by class; `None` without matplotlib."""
    try:
        figures = require("matplotlib.figure", "plot")
    except ImportError:
        return None
    shown = [row for row in rows if "states" in row]
    figure = figures.Figure(figsize=(3.5 * len(shown), 3.7), layout="constrained")
    for axes, row in zip(figure.subplots(1, len(shown), squeeze=False)[0], shown, strict=True):
        states, labels = np.array(row["states"]), np.array(row["labels"])
        for label in np.unique(labels):
            name = ag_news.LABEL_NAMES[label]
            axes.scatter(*states[labels == label].T, s=6, alpha=0.5, label=name)
        axes.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
        plots.plain(axes, f"m = {row['spec']['width']}")
    return plots.save(figure, path)
