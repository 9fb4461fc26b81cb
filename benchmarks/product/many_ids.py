"""Millions of ids on a small machine: bytes and milliseconds of a training step.

Made-up clicks: 1,024 times the 20 items somebody has seen, drawn by Zipf's law, and whether the
next is clicked. Vectors of width 128, their mean, one output. Each arm has a process of its own, so
that its peak of memory is its own (Linux only); an arm whose weights and moments alone take more
than 8 GB is not run, and its row says how much they take.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import processes, runner
from kerascompact import layers
from kerascompact.optimizers import LazyAdam, Proximal

SIZES = (268_000, 10_000_000)
WIDTH, BATCH, LENGTH, ANCHORS = 128, 1024, 20, 1000
BATCHES = 4  # different ones, in turn
LARGEST = 8_000_000_000  # bytes
MODULE = "benchmarks.product.many_ids"


class Arm(NamedTuple):
    """An embedding of V ids, the numbers of it that Adam trains, and whether it has a penalty."""

    embedding: Callable[[int], keras.layers.Layer]
    trained: Callable[[int], int]
    proximal: bool = False


def _sparse(entries: int) -> Arm:
    return Arm(
        lambda ids: layers.SparseAnchorEmbedding(ids, WIDTH, ANCHORS, entries, l1_weight=1e-5),
        lambda ids: ids * entries + ANCHORS * WIDTH,
        proximal=True,
    )


ARMS = {
    "plain table": Arm(
        lambda ids: keras.layers.Embedding(ids, WIDTH),
        lambda ids: ids * WIDTH,
    ),
    "KD, D = K = 32": Arm(
        lambda ids: layers.KDCodeEmbedding(ids, WIDTH, 32, 32),
        lambda ids: ids * 32 * 32 + 32 * 32 * WIDTH,
    ),
    "DPQ, D = K = 32": Arm(
        lambda ids: layers.DPQEmbedding(ids, WIDTH, 32, 32),
        lambda ids: ids * WIDTH + 2 * 32 * WIDTH,
    ),
    "ANT, 1,000 anchors": Arm(
        lambda ids: layers.AnchorTransformEmbedding(ids, WIDTH, ANCHORS, l1_weight=1e-5),
        lambda ids: ids * ANCHORS + ANCHORS * WIDTH,
        proximal=True,
    ),
    "sparse ANT, 8 entries of 1,000": _sparse(8),
    "sparse ANT, 16 entries of 1,000": _sparse(16),
    "sparse ANT, 32 entries of 1,000": _sparse(32),
    "HE, V / 20 buckets": Arm(
        lambda ids: layers.HashEmbedding(ids, WIDTH, ids // 20),
        lambda ids: ids // 20 * WIDTH + 2 * ids,
    ),
    "TT, rank 16": Arm(
        lambda ids: layers.TensorTrainEmbedding(ids, WIDTH, 16),
        lambda ids: layers.TensorTrainEmbedding(ids, WIDTH, 16).shape.size,
    ),
}


class Spec(NamedTuple):
    """What decides a row."""

    arm: str
    ids: int
    seed: int = 0


def state_bytes(arm: str, ids: int) -> int:
    """Bytes of an arm's trained numbers and their two moments."""
    return 3 * 4 * ARMS[arm].trained(ids)


def measure(arm: str, ids: int, steps: int = 15) -> dict[str, Any]:
    """One arm in this process: median time of a step, weights with moments, peak of the process."""
    random = np.random.default_rng(0)
    seen = ((random.zipf(1.1, (BATCHES, BATCH, LENGTH)) - 1) % ids).astype(np.int32)
    clicks = random.integers(0, 2, (BATCHES, BATCH, 1)).astype(np.float32)
    keras.utils.set_random_seed(0)
    inputs = keras.Input((LENGTH,), dtype="int32")
    rest = [keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1, "sigmoid")]
    model = keras.Sequential([inputs, ARMS[arm].embedding(ids), *rest])
    adam = keras.optimizers.Adam(1e-3)
    optimizer = Proximal(adam) if ARMS[arm].proximal else LazyAdam(1e-3)
    model.compile(optimizer, "binary_crossentropy")
    wall, cpu = [], []
    for step in range(steps + 2):
        start, busy = time.perf_counter(), time.process_time()
        model.train_on_batch(seen[step % BATCHES], clicks[step % BATCHES])
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    every = [*model.variables, *model.optimizer.variables]
    return {
        "unique": float(np.mean([len(np.unique(batch)) for batch in seen])),
        "milliseconds": round(1000 * float(np.median(wall[2:])), 1),
        "cpu_milliseconds": round(1000 * float(np.median(cpu[2:])), 1),
        "state_bytes": sum(_bytes(variable) for variable in every),
        "peak_bytes": processes.memory("VmHWM"),
    }


def _bytes(variable: keras.Variable) -> int:
    """Seeds are of a type that NumPy knows, too."""
    return int(np.prod(variable.shape)) * np.dtype(variable.dtype).itemsize


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every arm at every size that has no row yet."""

    def run(spec: Spec) -> dict[str, Any] | None:
        needed = state_bytes(spec.arm, spec.ids)
        if needed > LARGEST:
            times = {"milliseconds": None, "cpu_milliseconds": None}
            return {**times, "state_bytes": needed, "peak_bytes": None}
        return processes.measure_apart(MODULE, spec.arm, spec.ids)

    specs = [Spec(arm, ids) for ids in SIZES for arm in ARMS]
    return runner.run_all(name, specs, run, table)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown: time, weights and moments, and the peak of the process; "-": not run."""
    lines = [
        "| ids | embedding | ms/step | CPU ms | weights and moments, MB | peak of process, MB |",
        "|" + "---|" * 6,
    ]
    for row in sorted(rows, key=_place):
        spec, peak = row["spec"], row["peak_bytes"]
        lines.append(
            f"| {spec['ids']:,} | {spec['arm']} | {processes.shown(row['milliseconds'], 1)} "
            f"| {processes.shown(row['cpu_milliseconds'], 1)} "
            f"| {row['state_bytes'] / 1e6:,.0f} | {'-' if peak is None else f'{peak / 1e6:,.0f}'} |"
        )
    return "\n".join(lines)


def _place(row: dict[str, Any]) -> tuple[int, int]:
    """Where in the table: sizes and arms in the order above, whatever ran first."""
    return SIZES.index(row["spec"]["ids"]), [*ARMS].index(row["spec"]["arm"])


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
