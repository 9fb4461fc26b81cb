"""Milliseconds and bytes of a training step under dense and lazy optimizers, in the same run.

Batches of 256 texts of 100 ids drawn by Zipf's law, vectors of width 256, their mean, four classes.
Each arm has a process of its own, so that its peak of memory is its own (Linux only); an arm whose
weights and slots do not fit into the memory that is free is left out.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import processes
from kerascompact import layers
from kerascompact.optimizers import LazyAdam, Proximal

SIZES = (62_000, 268_000, 1_000_000)
BATCH, LENGTH, WIDTH, CLASSES, STRENGTH = 256, 100, 256, 4, 1e-5
BATCHES = 4  # different ones, in turn


class Arm(NamedTuple):
    """An embedding of V words, the width of its table, and an optimizer."""

    embedding: Callable[[int], keras.layers.Layer]
    columns: int
    optimizer: Callable[[], keras.optimizers.Optimizer]


def _stock(words: int) -> keras.layers.Layer:
    return keras.layers.Embedding(words, WIDTH)


def _by_rows(words: int) -> keras.layers.Layer:
    return layers.Embedding(words, WIDTH)


def _anchors(count: int) -> Callable[[int], keras.layers.Layer]:
    return lambda words: layers.AnchorTransformEmbedding(words, WIDTH, count, l1_weight=STRENGTH)


ARMS = {
    "SE, Keras Adam": Arm(_stock, WIDTH, keras.optimizers.Adam),
    "SE, lazy Adam": Arm(_stock, WIDTH, LazyAdam),
    "gathered table, lazy Adam": Arm(_by_rows, WIDTH, LazyAdam),
    "ANT 10, proximal lazy Adam": Arm(_anchors(10), 10, lambda: Proximal("adam")),
    "ANT 100, proximal lazy Adam": Arm(_anchors(100), 100, lambda: Proximal("adam")),
    "ANT 1000, proximal lazy Adam": Arm(_anchors(1000), 1000, lambda: Proximal("adam")),
}


def measure(name: str, words: int, jit_compile: bool, steps: int = 15) -> dict[str, Any]:
    """One arm in this process: median times of a step, and the most memory from the making of the
    model on, weights and slots included."""
    random = np.random.default_rng(0)
    ids = ((random.zipf(1.1, (BATCHES, BATCH, LENGTH)) - 1) % words).astype(np.int32)
    labels = random.integers(0, CLASSES, (BATCHES, BATCH))
    keras.utils.set_random_seed(0)
    before, arm = processes.memory("VmRSS"), ARMS[name]
    hidden = [keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(CLASSES, "softmax")]
    inputs = keras.Input((LENGTH,), dtype="int32")
    model = keras.Sequential([inputs, arm.embedding(words), *hidden])
    loss = "sparse_categorical_crossentropy"
    model.compile(arm.optimizer(), loss, jit_compile=jit_compile)
    wall, cpu = [], []
    for step in range(steps + 2):
        if step == 2:  # pages that the compiler freed may still be resident
            processes.forget_peak()
        start, busy = time.perf_counter(), time.process_time()
        model.train_on_batch(ids[step % BATCHES], labels[step % BATCHES])
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return {
        "arm": name,
        "V": words,
        "d": WIDTH,
        "batch": [BATCH, LENGTH],
        "unique": float(np.mean([len(np.unique(batch)) for batch in ids])),
        "jit_compile": jit_compile,
        "milliseconds": round(1000 * float(np.median(wall[2:])), 1),
        "cpu_milliseconds": round(1000 * float(np.median(cpu[2:])), 1),
        "peak_bytes": processes.memory("VmHWM") - before,
    }


def needed_bytes(name: str, words: int) -> int:
    """Table and two moments; in passing, stock Keras makes as much again, and lazy steps little."""
    return (6 if "Keras" in name else 4) * 4 * words * ARMS[name].columns


def _free_bytes() -> int:
    lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
    return 1024 * int(next(line for line in lines if "MemAvailable" in line).split()[1])


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every arm at every size, with and without `jit_compile`; ratios are to the first."""
    rows = []
    for words in SIZES:
        large = [arm for arm in ARMS if needed_bytes(arm, words) > _free_bytes()]
        for arm in large:
            print(f"{arm}, V = {words:,}: too little memory is free", file=sys.stderr)
        for jit_compile in (0, 1):
            rows += processes.compare(
                __name__, name, ARMS, (words, jit_compile), table, faster="faster", left_out=large
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: times, how many times faster than the stock layer with Keras' Adam, memory."""
    lines = [
        "| V | layer, optimizer | jit_compile | ms/step | CPU ms | times faster | peak MB |",
        "|" + "---|" * 7,
    ]
    for row in rows:
        lines.append(
            f"| {row['V']:,} | {row['arm']} | {row['jit_compile']} | {row['milliseconds']:.1f} "
            f"| {row['cpu_milliseconds']:.1f} | {processes.shown(row['faster'], 1)} "
            f"| {row['peak_bytes'] / 1e6:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), bool(int(sys.argv[3])))))
