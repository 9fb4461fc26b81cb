"""Language modeling of the Anchor & Transform paper: an LSTM of 200 on Penn Treebank, tied.

The LSTM part of Table 2 of [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), with
Zaremba's small model in the place of AWD-LSTM's settings and 500 epochs: every method has the same
epochs, dev picks the one that is measured on test, once. The embedding is also the softmax's table;
each word has a bias besides.

`python -m benchmarks.run ant_ptb_dev`, then `ant_ptb`; both go on where they were. `ant_ptb_whole`
has ten epochs of all of the text, with what `ant_ptb_dev` chose on a third of it.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.anchors import tied_language
from benchmarks.anchors.tied_language import SIZES, Spec
from benchmarks.data import ptb
from benchmarks.lib import results, runner
from kerascompact.datasets.base import data_dir

WORDNET = "open_english_wordnet"
NEAREST = {"kind": "nearest", "weights": "kernel"}
SMALL, LARGE = dict(num_anchors=500, num_neighbors=10), dict(num_anchors=1000, num_neighbors=20)
# With `ReLU(T)` a step of gradient descent can move half of the entries only: in trials of a third
# of an epoch that was behind low rank, and a `T` with both signs ahead.
SIGNED = {"kind": "anchors", "l1_weight": 1e-4, "nonnegative": False, "last": 0.02}
METHODS: dict[str, dict[str, Any]] = {
    "SE": {"kind": "standard"},
    "LR 1/5": {"kind": "low_rank", "ratio": 0.2},  # numbers as ANT 1,000 has in the paper
    "LR 1/10": {"kind": "low_rank", "ratio": 0.1},
    "TT 1/5": {"kind": "tensor_train", "ratio": 0.2},
    "SparseVD": {"kind": "sparse_vd", "kl_weight": 2e-5},
    "SparseVD-Voc": {"kind": "sparse_vd_voc", "kl_weight": 2e-5},
    "SparseVD, all charged": {"kind": "sparse_vd", "kl_weight": 2e-5, "charge": "all"},
    "Post-SH 500": {**NEAREST, **SMALL},
    "Post-SH 1,000": {**NEAREST, **LARGE},
    "Post-SH 1,000, least squares": {**NEAREST, **LARGE, "weights": "least_squares"},
    "Post-SH + k-SVD 500": {"kind": "k_svd", **SMALL},
    "Post-SH + k-SVD 1,000": {"kind": "k_svd", **LARGE},
    "k-SVD 500, shared": {"kind": "k_svd", **SMALL, "max_neighbors": 40, "by_counts": True},
    "k-SVD 1,000, shared": {"kind": "k_svd", **LARGE, "max_neighbors": 80, "by_counts": True},
    "SE, tuned": {"kind": "standard", "tuned": 1, "rate": 0.03},
    "ANT 500, k-SVD of SE, tuned": {"kind": "k_svd", **SMALL, "tuned": 1, "rate": 0.01},
    "ANT 1,000, k-SVD of SE, tuned": {"kind": "k_svd", **LARGE, "tuned": 1, "rate": 0.01},
    "ANT 500, shared k-SVD of SE, tuned": {
        "kind": "k_svd", **SMALL, "max_neighbors": 40, "by_counts": True, "tuned": 1, "rate": 0.01,
    },
    "ANT 100": {**SIGNED, "num_anchors": 100},
    "ANT 500": {**SIGNED, "num_anchors": 500},
    "ANT 1,000": {**SIGNED, "num_anchors": 1000, "last": 0.012},  # as many numbers as in the paper
    "ANT 2,000": {**SIGNED, "num_anchors": 2000, "last": 0.012},
    "ANT 100, ReLU": {"kind": "anchors", "l1_weight": 3e-4, "num_anchors": 100},
    "ANT 1,000, ReLU": {"kind": "anchors", "l1_weight": 1e-3, "num_anchors": 1000},
    # Zeros that come from training: no penalty in the first two thirds, then about 0.02 in all.
    "ANT 100, late penalty": {
        "kind": "anchors", "num_anchors": 100, "nonnegative": False, "l1_weight": 6e-5,
        "free_epochs": 2.67, "frozen_epochs": 1,
    },
    "ANT 100, ReLU, Adam, late penalty": {
        "kind": "anchors", "num_anchors": 100, "l1_weight": 0.03, "transform_rate": 2e-3,
        "free_epochs": 2.67,
    },
    # Fixed anchors, a tight frame with `A^T A = 4 I`: a step on `T` moves vectors as one on a table
    # at 4 times the rate, if there are as many as the width.
    "SE, 4 times the rate": {"kind": "standard", "table_rate": 4.0},
    "ANT 100, fixed": {**SIGNED, "num_anchors": 100, "frozen_epochs": 4},
    "ANT 100, knowledge": {**SIGNED, "num_anchors": 100, "related": True, "unrelated": 1e-4},
}  # fmt: skip
# What decides how sparse a method is, for a choice on dev: `ant_ptb_dev`. The rate is 1, so that
# the proximal steps of all epochs take about 2,000 strengths from an entry without a gradient. The
# variational bound has a `kl_weight` of 7e-5, 20 steps over 300,000 tokens.
GRID: dict[str, tuple[str, tuple[float, ...]]] = {
    "SparseVD": ("kl_weight", (7e-6, 2e-5, 7e-5)),
    "SparseVD, all charged": ("kl_weight", (7e-6, 2e-5)),
    "ANT 100": ("l1_weight", (5e-5, 1e-4, 2e-4)),
    "ANT 500": ("l1_weight", (5e-5, 1e-4, 2e-4)),
    "SE, tuned": ("rate", (0.03, 0.125, 0.5)),
    "ANT 500, k-SVD of SE, tuned": ("rate", (0.003, 0.01, 0.03)),
}
# Tried on dev alone: 4 million numbers, whose file would take hours to measure.
TRIALS: dict[str, dict[str, Any]] = {
    "ANT 1,000, fixed, weak penalty": {
        **SIGNED, "num_anchors": 1000, "frozen_epochs": 4, "l1_weight": 1.5e-5, "last": 0.006,
    },
}  # fmt: skip
# Of all of the text; those that are left out take hours.
WHOLE = (
    "SE",
    "SE, tuned",
    "Post-SH 1,000",
    "Post-SH + k-SVD 500",
    "Post-SH + k-SVD 1,000",
    "ANT 500, k-SVD of SE, tuned",
    "ANT 1,000, k-SVD of SE, tuned",
    "ANT 100",
    "ANT 1,000",
    "LR 1/5",
    "SparseVD",
    "ANT 100, knowledge",
    "TT 1/5",
)
# Table 2 has these once more at another width, of vectors and of the LSTMs.
WIDE = ("SE", "ANT 100", "ANT 500", "ANT 1,000", "ANT 2,000")
STRENGTHS = ("l1_weight", "group_lasso_weight", "kl_weight")


def grid(**changes: Any) -> list[Spec]:
    """Every method whose strength is chosen on dev, with each of a few, and the trials."""
    chosen = [
        Spec(method, {**METHODS[method], option: value}, **changes)
        for method, (option, values) in GRID.items()
        for value in values
    ]
    return chosen + [Spec(method, options, **changes) for method, options in TRIALS.items()]


def every() -> list[Spec]:
    """Every method, on a third of the text."""
    wide = [Spec(f"{name}, 256 units", METHODS[name], "small, 256 units") for name in WIDE]
    return [Spec(method, options) for method, options in METHODS.items()] + wide


def whole() -> list[Spec]:
    """Runs of all of the text, whose rate is 1 for four epochs, then halved in each."""
    return [Spec(name, METHODS[name], train_tokens=None, epochs=10, hold=4) for name in WHOLE]


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet, or goes on with it; `ant_ptb_dev` tries strengths without test.

    Checkpoints are in the folder `arguments.work`. A run of `ant_ptb_dev` need not be trained again
    for `ant_ptb`, which finds its checkpoints.
    """
    if arguments.sizes:
        raise ValueError("`--sizes` cannot count these anew: what is zero is up to the training.")
    test = name != "ant_ptb_dev"

    def run(spec: Spec) -> dict[str, Any]:
        corpus = ptb.load(arguments.data, spec.train_tokens)
        wordnet = data_dir(arguments.data) / WORDNET
        work = Path(arguments.work)
        return tied_language.run(spec, corpus, work, wordnet, test, arguments.verbose)

    specs = {"ant_ptb": every, "ant_ptb_dev": grid, "ant_ptb_whole": whole}[name]()
    return runner.benchmark(name, specs, arguments, run, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: a line per method, perplexities as means over seeds."""
    lines = [
        "| embedding | strength | epochs | seeds | dev | test | parameters (M) | of full "
        "| Mbit stored | file B | s/epoch |",
        "|" + "---|" * 11,
    ]
    for group in sorted(results.by_seed(rows), key=_place):
        spec = group[0]["spec"]
        strengths = [f"{spec['options'][name]:g}" for name in STRENGTHS if name in spec["options"]]
        numbers = results.spread(group, "embedding_parameters")[0]
        tuned = spec["options"].get("tuned")
        epochs = f"{spec['epochs']} + {tuned}" if tuned else str(spec["epochs"])
        cells = [spec["method"], *(strengths or ["-"]), epochs, str(len(group))]
        cells += [results.number(group, f"{text}_perplexity") for text in ("dev", "test")]
        cells += [f"{numbers / 1e6:.3f}", f"1/{_full(group[0]) / numbers:.1f}"]
        cells.append(f"{results.spread(group, 'stored_bits')[0] / 1e6:.2f}")
        # Of the seeds the largest: a mean would be the size of no file.
        sizes = [row["file_bytes"] for row in group if "file_bytes" in row]
        times = [row["seconds_per_epoch"] for row in group if "seconds_per_epoch" in row]
        cells += [f"{max(sizes):,}" if sizes else "-", f"{mean(times):.0f}" if times else "-"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _full(row: dict[str, Any]) -> int:
    """Numbers of the full table that a row's embedding stands for."""
    return row["words"] * SIZES[row["spec"]["size"]].units


def _place(group: list[dict[str, Any]]) -> int:
    """Where in the table: the order of methods above, whatever ran first."""
    wide = (f"{name}, 256 units" for name in WIDE)
    return [*METHODS, *TRIALS, *wide].index(group[0]["spec"]["method"])
