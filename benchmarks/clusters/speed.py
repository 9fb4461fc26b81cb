"""Milliseconds of a training step, beside the stock layer in the same run."""

import argparse
import time
from typing import Any

import keras
import numpy as np

from benchmarks.lib import runner
from kerascompact.models import mean_classifier
from kerascompact.optimizers import LazyAdam
from kerascompact.tasks.methods import METHODS as BY_NAME
from kerascompact.tasks.methods import build_embedding

BATCH, LENGTH, WIDTH, CLUSTERS, UNIQUE = 64, 64, 64, 64, 1000
SIZES = (10_000, 100_000, 1_000_000)
METHODS = ("standard", "cluster", "adjustment", "mixture")  # codes: see codes_speed


def step_seconds(model: keras.Model, ids: np.ndarray, labels: np.ndarray, steps: int) -> float:
    """Median time of one training step after two to warm up."""
    times = []
    for _ in range(steps + 2):
        start = time.perf_counter()
        model.train_on_batch(ids, labels)
        times.append(time.perf_counter() - start)
    return float(np.median(times[2:]))


def run(size: int, method: str, optimizer: str, jit_compile: bool, steps: int) -> float:
    """Seconds of a step of a mean classifier on a Zipf-distributed batch."""
    random = np.random.default_rng(0)
    ids = ((random.zipf(1.1, (BATCH, LENGTH)) - 1) % size).astype(np.int32)
    labels = random.integers(0, 4, BATCH)
    keras.utils.set_random_seed(0)
    sizes = {"clusters": CLUSTERS, "unique": UNIQUE}
    options = {name: sizes[name] for name in BY_NAME[method].options}
    embedding = build_embedding(method, size, WIDTH, **options)
    model = mean_classifier(embedding, 4)
    chosen = LazyAdam(1e-3) if optimizer == "LazyAdam" else keras.optimizers.Adam(1e-3)
    model.compile(chosen, "sparse_categorical_crossentropy", jit_compile=jit_compile)
    return step_seconds(model, ids, labels, steps)


def speed(
    sizes: tuple[int, ...] = SIZES, name: str = "speed", steps: int = 15
) -> list[dict[str, Any]]:
    """Every method with LazyAdam, and the stock layer with stock Adam, at each vocabulary size.

    `ratio` is to the stock layer with the same optimizer, the same V and the same `jit_compile`.
    """
    rows = []
    for size in sizes:
        for jit_compile in (False, True):
            base = run(size, "standard", "LazyAdam", jit_compile, steps)
            for method in METHODS:
                for optimizer in ("LazyAdam", "Adam") if method == "standard" else ("LazyAdam",):
                    again = method == "standard" and optimizer == "LazyAdam"
                    seconds = base if again else run(size, method, optimizer, jit_compile, steps)
                    row = {
                        "method": BY_NAME[method].abbreviation,
                        "optimizer": optimizer,
                        "V": size,
                        "d": WIDTH,
                        "k": CLUSTERS,
                        "u": UNIQUE,
                        "batch": [BATCH, LENGTH],
                        "jit_compile": jit_compile,
                        "milliseconds": round(1000 * seconds, 2),
                        "ratio": round(seconds / base, 2),
                    }
                    rows.append(runner.keep(name, row, table))
    return rows


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures everything anew: rows of another day's machine do not compare."""
    return speed()


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: milliseconds and ratio of each arm."""
    lines = ["| V | layer | optimizer | jit_compile | ms/step | ratio |", "|" + "---|" * 6]
    for row in rows:
        lines.append(
            f"| {row['V']:,} | {row['method']} | {row['optimizer']} | {row['jit_compile']} "
            f"| {row['milliseconds']:.1f} | {row['ratio']:.2f} |"
        )
    return "\n".join(lines)
