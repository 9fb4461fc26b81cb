"""The words of learned clusters on AG News: Table 4 of the cluster paper."""

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.clusters.curves import of
from benchmarks.lib import runner, text_runs
from benchmarks.lib.text_runs import Spec
from kerascompact.tasks.classification import TextData
from kerascompact.training.inspection import words_per_cluster

SPECS = of("cluster", (9800, 5, 32, 0))  # CE of 0.05 MB, as chosen on dev
KEPT, SHOWN = 12, 9  # words of a cluster in a row, in the table
CLUSTERS = 8  # as in the paper's table


def run(spec: Spec, data: TextData, verbose: int = 0) -> dict[str, Any]:
    """Trains one model; its row has the clusters that most of the text falls into first."""
    model, history = text_runs.trained(spec, data, jit_compile=True, verbose=verbose)
    assignments = model.get_layer("embedding").assignments()
    words = data.vocabulary
    counts = np.bincount(data.train.ids.flatten(), minlength=len(words))
    counts[:2] = 0  # padding and the unknown word
    tokens = np.bincount(assignments, weights=counts, minlength=spec.clusters)
    named = words_per_cluster(assignments[2:], words.words, KEPT)
    order = sorted(named, key=lambda cluster: -tokens[cluster])
    return {
        "label": spec.label,
        "dev_accuracy": max(history["val_accuracy"]),
        "clusters": [
            {
                "words": int(np.sum(assignments[2:] == cluster)),
                "tokens": int(tokens[cluster]),
                "frequent": named[cluster],
            }
            for cluster in order
        ],
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Runs what has no row yet."""

    def one(spec: Spec) -> dict[str, Any]:
        return run(spec, text_runs.load(spec, arguments.data), arguments.verbose)

    return runner.benchmark(name, SPECS, arguments, one, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: the clusters of the first row's model that have the most of the training text."""
    clusters = rows[0]["clusters"]
    text = sum(cluster["tokens"] for cluster in clusters)
    lines = ["| words | share of the text % | the most frequent words |", "|---|---|---|"]
    for cluster in clusters[:CLUSTERS]:
        frequent = " ".join(cluster["frequent"][:SHOWN]).replace("|", "\\|")
        share = 100 * cluster["tokens"] / text
        lines.append(f"| {cluster['words']:,} | {share:.1f} | {frequent} |")
    return "\n".join(lines)
