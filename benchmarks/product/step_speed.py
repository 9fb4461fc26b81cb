"""CPU time of a training step of each method, beside Keras' own embedding in the same process.

A mean classifier on batches of 64 texts of 64 ids drawn by Zipf's law, one thread. All arms of a
table take their steps in turn, so that a busy machine slows all of them; the time of an arm is the
lower quartile of its steps. `speed_gate` measures the ratios that are promised, in half a
minute, and fails if one is lost by more than a fifth.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection
from typing import Any

import keras
import numpy as np

from benchmarks.lib import processes, runner
from benchmarks.product.step_speed_others import CLASSES, Step, batches, other_steps, timed
from kerascompact import layers
from kerascompact.models import mean_classifier
from kerascompact.optimizers import LazyAdam, Proximal

BATCH, LENGTH, WIDTH = 64, 64, 64
WARM_UP = 4  # steps before the clock runs
SIZE, LARGE = 100_000, 1_000_000
BASE = "SE, lazy Adam"
Arm = tuple[Callable[[int], keras.layers.Layer], Callable[[], Any]]
ARMS: dict[str, Arm] = {
    BASE: (lambda v: keras.layers.Embedding(v, WIDTH), LazyAdam),
    "SE, Keras Adam": (lambda v: keras.layers.Embedding(v, WIDTH), keras.optimizers.Adam),
    "layers.Embedding": (lambda v: layers.Embedding(v, WIDTH), LazyAdam),
    "CE": (lambda v: layers.ClusterEmbedding(v, WIDTH, 64), LazyAdam),
    "CAE": (lambda v: layers.ClusterAdjustmentEmbedding(v, WIDTH, 64), LazyAdam),
    "ME": (lambda v: layers.MixtureEmbedding(v, WIDTH, 64, v // 100), LazyAdam),
    "DPQ": (lambda v: layers.DPQEmbedding(v, WIDTH, 32, 8), LazyAdam),
    "KD": (lambda v: layers.KDCodeEmbedding(v, WIDTH, 32, 8), LazyAdam),
    "ANT 100": (
        lambda v: layers.AnchorTransformEmbedding(v, WIDTH, 100, l1_weight=1e-5),
        lambda: Proximal("adam"),
    ),
}
OF_MANY_WORDS = [BASE, "SE, Keras Adam", "layers.Embedding", "CE", "DPQ"]  # that fit into memory
# Largest ratios to `BASE` at 100,000 words, by `jit_compile`.
PROMISED = {
    False: {"layers.Embedding": 1.0, "CE": 1.2, "ME": 1.5},
    True: {"CE": 1.5, "CAE": 1.5, "ME": 1.5, "DPQ": 3.0, "KD": 4.0, "ANT 100": 1.2},
}
SLACK = 1.2


def steps_of(names: Collection[str], words: int, jit_compile: bool) -> dict[str, Step]:
    """The step of each arm, compiled at its first call."""
    found: dict[str, Step] = {}
    for name in names:
        keras.utils.set_random_seed(0)
        make, optimizer = ARMS[name]
        model = mean_classifier(make(words), CLASSES)
        loss = "sparse_categorical_crossentropy"
        model.compile(optimizer(), loss, jit_compile=jit_compile)
        found[name] = timed(model.train_on_batch, words, (BATCH, LENGTH))
    return found


def measure(
    words: int, jit_compile: bool, names: Collection[str], rounds: int, others: bool = False
) -> list[dict[str, Any]]:
    """A row for each arm: quartiles of the CPU time of a step, and ratios to the first arm."""
    steps = steps_of(names, words, jit_compile)
    if others:
        steps |= other_steps(words, (BATCH, LENGTH), WIDTH, jit_compile)
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(WARM_UP + rounds):
        for name, step in steps.items():
            seconds[name].append(step(number))
    unique = float(np.mean([len(np.unique(ids)) for ids in batches(words, (BATCH, LENGTH))[0]]))
    times = {name: 1000 * np.percentile(some[WARM_UP:], 25) for name, some in seconds.items()}
    return [
        {
            "arm": name,
            "V": words,
            "d": WIDTH,
            "batch": [BATCH, LENGTH],
            "unique": unique,
            "jit_compile": jit_compile,
            "rounds": rounds,
            "cpu_milliseconds": round(time_of, 2),
            "ratio": round(time_of / times[next(iter(times))], 2),
        }
        for name, time_of in times.items()
    ]


def measured_apart(
    words: int, jit_compile: bool, names: Collection[str], rounds: int, others: bool = False
) -> list[dict[str, Any]]:
    """`measure` in a process of one thread."""
    chosen = (words, int(jit_compile), json.dumps(list(names)), rounds, int(others))
    found = processes.measure_apart(__name__, *chosen)
    if found is None:
        raise SystemExit("the steps could not be measured; see the message above")
    return list(found["rows"])


def gate(measured: Callable[..., list[dict[str, Any]]] = measured_apart) -> list[dict[str, Any]]:
    """Measures what is promised; arms that are too slow have a second try.

    Raises: SystemExit, with the arms that are too slow both times.
    """
    rows: list[dict[str, Any]] = []
    lost: list[str] = []
    for jit_compile, promised in PROMISED.items():
        best: dict[str, dict[str, Any]] = {}
        left = list(promised)
        for _ in range(2):
            for row in measured(SIZE, jit_compile, [BASE, *left], 30):
                known = best.get(row["arm"])
                if known is None or row["ratio"] < known["ratio"]:
                    best[row["arm"]] = row
            left = [arm for arm in promised if best[arm]["ratio"] > SLACK * promised[arm]]
            if not left:
                break
        rows += best.values()
        lost += [f"{arm} (jit_compile={jit_compile})" for arm in left]
    if lost:
        raise SystemExit(f"{table(rows)}\nslower than promised: {', '.join(lost)}")
    return rows


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures all arms anew, or for "speed_gate" what is promised; that one keeps no rows."""
    if name == "speed_gate":
        return gate()
    rows = []
    for words, names in ((SIZE, list(ARMS)), (LARGE, OF_MANY_WORDS)):
        for jit_compile in (False, True):
            for row in measured_apart(words, jit_compile, names, 60, others=True):
                rows.append(runner.keep(name, row, table))
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: CPU time of a step, its ratio to `BASE`, and the ratio that is promised."""
    lines = ["| V | layer | jit_compile | CPU ms/step | ratio | at most |", "|" + "---|" * 6]
    for row in rows:
        promised = PROMISED[row["jit_compile"]].get(row["arm"]) if row["V"] == SIZE else None
        lines.append(
            f"| {row['V']:,} | {row['arm']} | {row['jit_compile']} "
            f"| {row['cpu_milliseconds']:.1f} | {row['ratio']:.2f} "
            f"| {processes.shown(promised, 1)} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    size, compiled, arms, count, more = map(json.loads, sys.argv[1:])
    print(json.dumps({"rows": measure(size, bool(compiled), arms, count, bool(more))}))
