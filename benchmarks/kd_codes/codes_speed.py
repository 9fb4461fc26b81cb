"""Milliseconds and bytes of a training step with KD codes, beside the stock layer in the same run.

The paper's size: K = D = 32, d = 300, at three vocabularies. Each measurement has a process of its
own, so that its peak of memory is its own.
"""

import argparse
import json
import sys
from typing import Any

import keras
import numpy as np

from benchmarks.clusters.speed import step_seconds
from benchmarks.lib import processes
from kerascompact import layers
from kerascompact.models import mean_classifier
from kerascompact.optimizers import LazyAdam

K = D = 32
WIDTH, BATCH, LENGTH = 300, 64, 64
SIZES = (10_000, 62_000, 268_000)
ARMS = {  # name -> embedding of V words, optimizer
    "SE": (lambda v: keras.layers.Embedding(v, WIDTH), LazyAdam),
    "SE, Keras Adam": (lambda v: keras.layers.Embedding(v, WIDTH), keras.optimizers.Adam),
    "KD": (lambda v: layers.KDCodeEmbedding(v, WIDTH, K, D), LazyAdam),
    "KD, d' = 100": (
        lambda v: layers.KDCodeEmbedding(v, WIDTH, K, D, hidden_dim=100),
        LazyAdam,
    ),
    "DPQ": (lambda v: layers.DPQEmbedding(v, WIDTH, K, 30), LazyAdam),
}


def measure(name: str, size: int, jit_compile: bool, steps: int = 12) -> dict[str, Any]:
    """One arm in this process: step time, bytes held in training, peak of memory."""
    random = np.random.default_rng(0)
    ids = ((random.zipf(1.1, (BATCH, LENGTH)) - 1) % size).astype(np.int32)
    labels = random.integers(0, 4, BATCH)
    keras.utils.set_random_seed(0)
    before = processes.memory("VmRSS")
    make, optimizer = ARMS[name]
    model = mean_classifier(make(size), 4)
    model.compile(optimizer(1e-3), "sparse_categorical_crossentropy", jit_compile=jit_compile)
    seconds = step_seconds(model, ids, labels, steps)
    held = [*model.weights, *model.optimizer.variables]
    return {
        "method": name,
        "optimizer": optimizer.__name__,
        "V": size,
        "K": K,
        "D": D,
        "d": WIDTH,
        "batch": [BATCH, LENGTH],
        "unique": len(np.unique(ids)),
        "jit_compile": jit_compile,
        "milliseconds": round(1000 * seconds, 2),
        "training_bytes": int(sum(4 * np.prod(weight.shape) for weight in held)),
        "peak_bytes": processes.memory("VmHWM") - before,
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every arm; `ratio` is to the stock layer, same optimizer, V and `jit_compile`."""
    rows = []
    for size in SIZES:
        for jit_compile in (0, 1):
            rows += processes.compare(__name__, name, ARMS, (size, jit_compile), table)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: time, ratio, bytes of weights and optimizer slots, and peak memory of each arm."""
    lines = [
        "| V | layer | optimizer | jit_compile | ms/step | ratio | held MB | peak MB |",
        "|" + "---|" * 8,
    ]
    for row in rows:
        lines.append(
            f"| {row['V']:,} | {row['method']} | {row['optimizer']} | {row['jit_compile']} "
            f"| {row['milliseconds']:.1f} | {processes.shown(row['ratio'])} "
            f"| {row['training_bytes'] / 1e6:.0f} | {row['peak_bytes'] / 1e6:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), bool(int(sys.argv[3])))))
