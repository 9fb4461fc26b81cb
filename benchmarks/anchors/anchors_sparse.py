"""Dense and sparse training of Anchor & Transform: accuracy on CLINC150 and AG News.

The mean of the words' vectors, then one layer, so that the vectors decide. All methods of a set are
trained alike: batches, epochs, a rate that falls to zero. Of the epochs of the second half the one
that is best on dev is measured on test, once. The penalty of a set is that with which the dense
layer is best on dev (`anchors_sparse_dev`).
"""

import argparse
import functools
import time
from collections.abc import Sequence
from statistics import mean
from typing import Any, NamedTuple

import keras

from benchmarks.anchors.anchor_methods import named, optimizer_of
from benchmarks.clusters.cluster_paper import SEEDS
from benchmarks.lib import results, runner
from kerascompact import datasets, layers, models
from kerascompact.tasks.classification import TextData, encode, train
from kerascompact.tasks.measure import accuracy
from kerascompact.tasks.methods import build_embedding

ANCHORS = 200
PENALTIES = (0.001, 0.01, 0.1)  # tried on dev
METHODS: dict[str, dict[str, Any]] = {
    "SE": {},
    "ANT": {"times": 1},
    "ANT, tenfold penalty": {"times": 10},
    "sparse ANT, 32 entries": {"times": 1, "entries": 32},
    "sparse ANT, 16 entries": {"times": 1, "entries": 16},
    "sparse ANT, 8 entries": {"times": 1, "entries": 8},
    "sparse ANT, 16 entries that stay": {"times": 1, "entries": 16, "regrow_rows": 0},
}
PENALTY = {"clinc150": 0.01, "ag_news": 0.1}  # the best of the dense layer's on dev


class Spec(NamedTuple):
    """Everything that decides a run. Two runs of one spec give the same row, but for times."""

    method: str
    options: dict[str, Any]
    dataset: str
    size: int
    length: int
    width: int
    epochs: int
    batch_size: int
    learning_rate: float
    dropout: float
    seed: int = 0


SETS: dict[str, dict[str, Any]] = {
    "clinc150": dict(size=4000, length=32, width=32, epochs=15, batch_size=128,
                     learning_rate=1e-2, dropout=0.4),
    "ag_news": dict(size=33_963, length=100, width=64, epochs=4, batch_size=256,
                    learning_rate=5e-3, dropout=0.5),
}  # fmt: skip


def options_of(method: str, penalty: float) -> dict[str, Any]:
    """Arguments of a method's layer, with the penalty of a set."""
    options = dict(METHODS[method])
    if "times" in options:
        options["l1_weight"] = options.pop("times") * penalty
    return options


def specs() -> list[Spec]:
    """Every method on every set."""
    return [
        Spec(method, options_of(method, PENALTY[name]), name, **sizes)
        for name, sizes in SETS.items()
        for method in METHODS
    ]


def grid() -> list[Spec]:
    """Both layers with each penalty, seed 0."""
    return [
        Spec(method, options_of(method, penalty), name, **sizes)
        for name, sizes in SETS.items()
        for method in ("ANT", "sparse ANT, 32 entries", "sparse ANT, 16 entries")
        for penalty in PENALTIES
    ]


def build(spec: Spec, data: TextData) -> keras.Model:
    """The untrained model of a run, seeded."""
    keras.utils.set_random_seed(spec.seed)
    sizes = (len(data.vocabulary), spec.width)
    embedding: Any
    if spec.method == "SE":  # words that are seldom met stay near zero
        embedding = build_embedding("standard", *sizes, start=0.01)
    else:
        kind = (
            layers.SparseAnchorEmbedding
            if "entries" in spec.options
            else layers.AnchorTransformEmbedding
        )
        embedding = kind(*sizes, ANCHORS, **named(spec.options), seed=spec.seed)
    return models.mean_classifier(embedding, len(data.label_names), dropout=spec.dropout)


def run(spec: Spec, data: TextData, test: bool = True, verbose: int = 0) -> dict[str, Any]:
    """Trains one model and returns its row; `test=False` leaves the test split untouched."""
    model, start, first = build(spec, data), time.perf_counter(), spec.epochs // 2
    train(
        model,
        data,
        epochs=spec.epochs,
        batch_size=spec.batch_size,
        learning_rate=spec.learning_rate,
        seed=spec.seed,
        optimizer=optimizer_of("standard" if spec.method == "SE" else "anchors"),
        start_from_epoch=first,
        verbose=verbose,
    )
    row = {
        "train_rows": len(data.train.labels),
        "train_seconds": round(time.perf_counter() - start, 1),
        "dev_accuracy": accuracy(model, data.dev),
    }
    if test:
        row["test_accuracy"] = accuracy(model, data.test)
    if spec.method != "SE":
        entries = model.get_layer("embedding").sparse_transform().nnz
        row["entries"] = round(entries / len(data.vocabulary), 2)
    return row


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs, or goes on with, the benchmark; `anchors_sparse_dev` tries penalties without test."""

    @functools.cache
    def loaded(dataset: str, size: int, length: int) -> TextData:
        return encode(datasets.load(dataset, arguments.data), size, length)

    def one(spec: Spec) -> dict[str, Any]:
        data = loaded(spec.dataset, spec.size, spec.length)
        return run(spec, data, test=name == "anchors_sparse", verbose=arguments.verbose)

    if name == "anchors_sparse_dev":
        return runner.benchmark(name, grid(), arguments, one, table)
    return runner.benchmark(name, specs(), arguments, one, table, SEEDS)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per set and method, mean and spread over seeds."""
    lines = [
        "| data | embedding | penalty | seeds | dev | test | entries of a word | seconds |",
        "|" + "---|" * 8,
    ]
    for group in sorted(results.by_seed(rows), key=_place):
        spec = group[0]["spec"]
        cells = [spec["dataset"], spec["method"], f"{spec['options'].get('l1_weight', '-')}"]
        cells += [str(len(group)), results.percent(group, "dev_accuracy")]
        cells.append(results.percent(group, "test_accuracy"))
        known = [row["entries"] for row in group if "entries" in row]
        cells.append(f"{mean(known):.1f}" if known else "-")
        cells.append(f"{mean(row['train_seconds'] for row in group):.0f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _place(group: list[dict[str, Any]]) -> tuple[int, int]:
    """Where in the table: sets and methods in the order above, whatever ran first."""
    spec = group[0]["spec"]
    return [*SETS].index(spec["dataset"]), [*METHODS].index(spec["method"])
