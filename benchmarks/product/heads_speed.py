"""Milliseconds and bytes of a language model's step under each kind of softmax, in the same run.

400 hidden vectors of width 200 (20 streams of 20 words) over 10,000 words, as in Zaremba's small
model but without its LSTMs: embedding, one dense layer, head, loss, SGD. Each arm has a process of
its own, so that its peak of memory is its own (Linux only).
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np

from benchmarks.lib import processes
from kerascompact import layers
from kerascompact.optimizers import LazySGD
from kerascompact.training import SampledSoftmaxCrossEntropy, SparseSoftmaxCrossEntropy

WORDS, WIDTH, STREAMS, STEPS, SAMPLED = 10_000, 200, 20, 20, 1000
K = D = 32
HIDDEN, RANK, CLUSTERS = 300, 20, 50


class Arm(NamedTuple):
    """An embedding, what makes logits of hidden vectors, and a loss."""

    embedding: Callable[[], keras.layers.Layer]
    head: Callable[[keras.layers.Layer, Any], Any]
    loss: Callable[[], keras.losses.Loss]


def _stock() -> keras.layers.Layer:
    return keras.layers.Embedding(WORDS, WIDTH)


def _codes() -> keras.layers.Layer:
    return layers.KDCodeEmbedding(WORDS, WIDTH, K, D, hidden_dim=HIDDEN, composition="mean")


def _clusters() -> keras.layers.Layer:
    return layers.ClusterEmbedding(WORDS, WIDTH, CLUSTERS)


def _low_rank() -> keras.layers.Layer:
    return layers.LowRankEmbedding(WORDS, WIDTH, RANK)


def _dense(embedding: Any, hidden: Any) -> Any:
    return keras.layers.Dense(WORDS)(hidden)


def _words(embedding: Any, hidden: Any) -> Any:
    return layers.WordLogits(WORDS)(hidden)


def _tied(embedding: Any, hidden: Any) -> Any:
    return layers.tied_softmax(embedding, hidden, use_bias=True)


def _keras_loss() -> keras.losses.Loss:
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def _sampled() -> keras.losses.Loss:
    return SampledSoftmaxCrossEntropy(SAMPLED)


_full = SparseSoftmaxCrossEntropy
ARMS = {
    "SE, Dense": Arm(_stock, _dense, _full),
    "SE, Dense, Keras' loss": Arm(_stock, _dense, _keras_loss),
    "SE, WordLogits, sampled": Arm(_stock, _words, _sampled),
    "KD, Dense": Arm(_codes, _dense, _full),
    "KD, tied": Arm(_codes, _tied, _full),
    "KD, tied, sampled": Arm(_codes, _tied, _sampled),
    "CE, tied": Arm(_clusters, _tied, _full),
    "CE, tied, sampled": Arm(_clusters, _tied, _sampled),
    "LR, tied": Arm(_low_rank, _tied, _full),
}


def measure(name: str, jit_compile: bool, steps: int = 15) -> dict[str, Any]:
    """One arm in this process: median times of a step, and the peak of memory in later steps above
    that before the first, without the model's weights."""
    random = np.random.default_rng(0)
    text = ((random.zipf(1.2, (STREAMS, STEPS + 1)) - 1) % WORDS).astype(np.int32)
    ids, labels = text[:, :-1], text[:, 1:]
    keras.utils.set_random_seed(0)
    arm = ARMS[name]
    embedding, symbolic = arm.embedding(), keras.Input(batch_shape=ids.shape, dtype="int32")
    hidden = keras.layers.Dense(WIDTH, "tanh")(embedding(symbolic))
    model = keras.Model(symbolic, arm.head(embedding, hidden))
    model.compile(LazySGD(0.1, global_clipnorm=3.0), arm.loss(), jit_compile=jit_compile)
    before, wall, cpu = processes.memory("VmRSS"), [], []
    for step in range(steps + 2):
        if step == 2:  # pages that the compiler freed may still be resident
            processes.forget_peak()
        start, busy = time.perf_counter(), time.process_time()
        model.train_on_batch(ids, labels)
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - busy)
    return {
        "head": name,
        "V": WORDS,
        "d": WIDTH,
        "n": ids.size,
        "sampled": SAMPLED if "sampled" in name else None,
        "jit_compile": jit_compile,
        "milliseconds": round(1000 * float(np.median(wall[2:])), 1),
        "cpu_milliseconds": round(1000 * float(np.median(cpu[2:])), 1),
        "weight_bytes": int(sum(4 * np.prod(weight.shape) for weight in model.weights)),
        "peak_bytes": processes.memory("VmHWM") - before,
    }


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every arm with and without `jit_compile`; ratios are to the first."""
    rows = []
    for jit_compile in (0, 1):
        rows += processes.compare(__name__, name, ARMS, (jit_compile,), table, "cpu_milliseconds")
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: times (all cores' CPU time is steadier on a busy machine), ratio, bytes."""
    lines = [
        "| embedding, head | jit_compile | ms/step | CPU ms | ratio | weights MB | peak MB |",
        "|" + "---|" * 7,
    ]
    for row in rows:
        lines.append(
            f"| {row['head']} | {row['jit_compile']} | {row['milliseconds']:.1f} "
            f"| {row['cpu_milliseconds']:.1f} | {processes.shown(row['ratio'])} "
            f"| {row['weight_bytes'] / 1e6:.0f} | {row['peak_bytes'] / 1e6:.0f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], bool(int(sys.argv[2])))))
