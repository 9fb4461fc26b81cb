"""Memory and milliseconds of a training step with KD logits in float32 and in bfloat16.

The model, the batch and the sizes of `codes_speed`. Peaks are of processes of their own; times are
of a process with both models, which take their steps in turns. Under XLA a step is compiled that
Keras would not compile on CPU (`supports_jit`), to show why.
"""

import argparse
import json
import sys
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from benchmarks.kd_codes.codes_speed import BATCH, LENGTH, WIDTH, D, K
from benchmarks.lib import processes, runner
from kerascompact import layers
from kerascompact.models import mean_classifier
from kerascompact.optimizers import LazyAdam

DTYPES = ("float32", "bfloat16")
SIZES = (100_000, 268_000)
MODULE = "benchmarks.kd_codes.codes_half"
STEPS = 15


def batch(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Zipf-distributed ids and labels."""
    random = np.random.default_rng(0)
    ids = ((random.zipf(1.1, (BATCH, LENGTH)) - 1) % size).astype(np.int32)
    return ids, random.integers(0, 4, BATCH)


def model_of(dtype: str, size: int, jit_compile: bool) -> keras.Model:
    """A compiled mean classifier on KD codes."""
    keras.utils.set_random_seed(0)
    layer = layers.KDCodeEmbedding(size, WIDTH, K, D, logits_dtype=dtype)
    layer.supports_jit = True
    model = mean_classifier(layer, 4)
    loss = "sparse_categorical_crossentropy"
    model.compile(LazyAdam(1e-3), loss, jit_compile=jit_compile)
    return model


def bytes_of(variable: Any) -> int:
    """Bytes of a variable.

    >>> bytes_of(keras.Variable([1.0, 2.0], dtype="bfloat16"))
    4
    """
    return int(np.prod(variable.shape)) * tf.as_dtype(variable.dtype).size


def memory(dtype: str, size: int, jit_compile: bool) -> dict[str, Any]:
    """Bytes of weights and slots, and what three steps add to the peak of this process."""
    before, (ids, labels) = processes.memory("VmRSS"), batch(size)
    model = model_of(dtype, size, jit_compile)
    for _ in range(3):
        model.train_on_batch(ids, labels)
    held = [*model.weights, *model.optimizer.variables]
    peak = processes.memory("VmHWM") - before
    return {"held_bytes": sum(map(bytes_of, held)), "peak_bytes": peak}


def milliseconds(size: int, jit_compile: bool) -> dict[str, Any]:
    """Median times of a step by dtype, and the median of the ratios of neighbouring steps."""
    ids, labels = batch(size)
    models = [model_of(dtype, size, jit_compile) for dtype in DTYPES]
    times = np.zeros((STEPS + 2, 2))
    for row in times:
        for place, model in enumerate(models):
            start = time.perf_counter()
            model.train_on_batch(ids, labels)
            row[place] = 1000 * (time.perf_counter() - start)
    times = times[2:]
    both = dict(zip(DTYPES, np.median(times, axis=0).round(1).tolist(), strict=True))
    return {"milliseconds": both, "ratio": round(float(np.median(times[:, 1] / times[:, 0])), 2)}


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures memory at each size and times at the smaller one, without XLA and with it."""
    rows = []
    for size in SIZES:
        for jit_compile in (0, 1):
            row: dict[str, Any] = {"V": size, "jit_compile": bool(jit_compile)}
            for dtype in DTYPES:
                row[dtype] = processes.measure_apart(MODULE, dtype, size, jit_compile)
            if size == SIZES[0]:
                row |= processes.measure_apart(MODULE, "times", size, jit_compile) or {}
            rows.append(runner.keep(name, row, table))
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: bytes held, peak and time of both dtypes; "-": not measured."""
    lines = [
        "| V | jit_compile | held MB, float32 | bfloat16 | peak MB, float32 | bfloat16 "
        "| ms/step, float32 | bfloat16 | ratio |",
        "|" + "---|" * 9,
    ]
    for row in rows:
        held, peak = (
            [f"{row[dtype][key] / 1e6:,.0f}" for dtype in DTYPES]
            for key in ("held_bytes", "peak_bytes")
        )
        times = [processes.shown(row.get("milliseconds", {}).get(dtype), 1) for dtype in DTYPES]
        cells = [f"{row['V']:,}", str(row["jit_compile"]), *held, *peak, *times]
        lines.append(f"| {' | '.join(cells)} | {processes.shown(row.get('ratio'))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    what, words, compiled = sys.argv[1], int(sys.argv[2]), bool(int(sys.argv[3]))
    times = what == "times"
    print(json.dumps(milliseconds(words, compiled) if times else memory(what, words, compiled)))
