"""Equation 11: a step of a tied softmax over anchors with a dense and with a sparse gradient.

400 hidden vectors (20 streams of 20 words) over the words, embedding and softmax tied, one dense
layer between. Labels repeat the words, so that after some steps the softmax has learned which are
likely, as late in a training. Each arm has a process of its own, so that its peak of memory is its
own (Linux only).
"""

import argparse
import json
import sys
import time
from typing import Any

import keras
import numpy as np

from benchmarks.lib import processes, results, runner
from kerascompact import layers
from kerascompact.optimizers import Proximal
from kerascompact.training import SampledSoftmaxCrossEntropy, SparseSoftmaxCrossEntropy

SIZES = ((10_000, 500),)  # words and anchors
WIDTH, STREAMS, STEPS, SAMPLED = 200, 20, 20, 1000
THRESHOLDS = {"dense": 0.0, "sparse 0.001": 1e-3, "sparse 0.01": 0.01, "sparse 0.1": 0.1}
ARMS = (*THRESHOLDS, "sampled")
WARM, TIMED = 30, 10


def measure(
    arm: str, words: int, anchors: int, warm: int = WARM, timed: int = TIMED
) -> dict[str, Any]:
    """One arm in this process: median times of a late step, the rows that it wrote, the loss, and
    the peak of memory in these steps above that before the first, weights and slots included."""
    random = np.random.default_rng(0)
    keras.utils.set_random_seed(0)
    embedding = layers.AnchorTransformEmbedding(
        words, WIDTH, anchors, l1_weight=1e-6, gradient_threshold=THRESHOLDS.get(arm, 0.0)
    )
    symbolic = keras.Input(batch_shape=(STREAMS, STEPS), dtype="int32")
    before = processes.memory("VmRSS")
    hidden = keras.layers.Dense(WIDTH, "tanh")(embedding(symbolic))
    model = keras.Model(symbolic, embedding(hidden, reverse=True))
    sampled = arm == "sampled"
    loss = SampledSoftmaxCrossEntropy(SAMPLED) if sampled else SparseSoftmaxCrossEntropy()
    model.compile(Proximal(keras.optimizers.Adam(1e-3)), loss)
    wall, cpu, written = [], [], []
    for step in range(warm + timed):
        text = ((random.zipf(1.2, (STREAMS, STEPS)) - 1) % words).astype(np.int32)
        if step == warm:
            processes.forget_peak()
        old = embedding.transform.numpy() if step == warm + timed - 1 else None
        start, busy = time.perf_counter(), time.process_time()
        found = model.train_on_batch(text, text)
        if step < warm or old is not None:  # the last one is only looked at
            written.append(old)
            continue
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
        peak = processes.memory("VmHWM") - before
    rows = np.any(written[-1] != embedding.transform.numpy(), axis=1)
    return {
        "milliseconds": round(1000 * float(np.median(wall)), 1),
        "cpu_milliseconds": round(1000 * float(np.median(cpu)), 1),
        "peak_bytes": peak,
        "rows_written": int(rows.sum()),
        "loss": round(float(found), 3),
    }


def benchmark(name: str, arguments: argparse.Namespace | None = None) -> list[dict[str, Any]]:
    """Every arm that has no row yet, and all rows."""
    specs = [
        {"words": words, "anchors": anchors, "width": WIDTH, "gradient": arm}
        for words, anchors in SIZES
        for arm in ARMS
    ]

    def one(spec: dict[str, Any]) -> dict[str, Any] | None:
        return processes.measure_apart(__name__, spec["gradient"], spec["words"], spec["anchors"])

    runner.run_all(name, specs, one, table)
    return results.rows(name)


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each arm."""
    head = "| V | anchors | gradient of T | ms/step | CPU ms | rows written | peak MB | loss |"
    lines = [head, "|" + "---|" * 8]
    for row in rows:
        spec = row["spec"]
        lines.append(
            f"| {spec['words']:,} | {spec['anchors']:,} | {spec['gradient']} "
            f"| {row['milliseconds']:.0f} | {row['cpu_milliseconds']:.0f} "
            f"| {row['rows_written']:,} | {row['peak_bytes'] / 1e6:.0f} | {row['loss']:.2f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], *map(int, sys.argv[2:]))))
