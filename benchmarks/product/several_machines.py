"""Bytes that two processes exchange in a training step: rows of a table, or all of it.

Batches of 64 texts of 100 ids drawn by Zipf's law, vectors of width 64, their mean, four classes;
each process takes half of a batch. The two run in a network namespace of their own (Linux), whose
loopback device counts what they send and nothing else.
"""

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.lib import processes, runner
from benchmarks.lib.experiments import ROOT

SIZES = (10_000, 100_000)
BATCH, LENGTH, WIDTH, CLASSES, PROCESSES = 64, 100, 64, 4, 2
WARM, STEPS = 3, 12
ARMS = ("lazy Adam", "Keras Adam", "lazy Adam, dense gradient")


def worker(arm: str, words: int) -> dict[str, Any]:
    """Trains in this process, one of those of `TF_CONFIG`; a row."""
    import keras
    import numpy as np
    import tensorflow as tf

    from kerascompact.optimizers import LazyAdam
    from kerascompact.training import MultiWorkerStrategy

    class Dense(LazyAdam):
        """The same step on the gradient of the entire table."""

        def apply(self, grads: Any, trainable_variables: Any = None) -> None:
            super().apply([tf.convert_to_tensor(one) for one in grads], trainable_variables)

    strategy = MultiWorkerStrategy()
    keras.utils.set_random_seed(0)
    random = np.random.default_rng(0)
    ids = ((random.zipf(1.1, ((WARM + STEPS) * BATCH, LENGTH)) - 1) % words).astype(np.int32)
    labels = random.integers(0, CLASSES, len(ids))
    optimizers = {"lazy Adam": LazyAdam, "Keras Adam": keras.optimizers.Adam}
    with strategy.scope():
        hidden = [keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(CLASSES, "softmax")]
        table = keras.layers.Embedding(words, WIDTH)
        model = keras.Sequential([keras.Input((LENGTH,), dtype="int32"), table, *hidden])
        loss = "sparse_categorical_crossentropy"
        model.compile(optimizers.get(arm, Dense)(), loss, jit_compile=False)

    class Count(keras.callbacks.Callback):
        times: list[float] = []
        sent: list[int] = []

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.times.append(time.perf_counter())
            self.sent.append(sent_bytes())

    model.fit(ids, labels, BATCH, shuffle=False, verbose=0, callbacks=[Count()])
    parts = ids[WARM * BATCH :].reshape(STEPS * PROCESSES, -1)
    return {
        "arm": arm,
        "V": words,
        "d": WIDTH,
        "batch": [BATCH, LENGTH],
        "processes": PROCESSES,
        "unique": float(np.mean([len(np.unique(part)) for part in parts])),
        "bytes": round((Count.sent[-1] - Count.sent[WARM - 1]) / STEPS),
        "milliseconds": round(1000 * statistics.median(np.diff(Count.times[WARM - 1 :])), 1),
    }


def sent_bytes() -> int:
    """Bytes that the loopback device has sent, in this namespace."""
    lines = Path("/proc/net/dev").read_text("utf-8").splitlines()
    return int(next(line for line in lines if "lo:" in line).split()[9])


def pair(arm: str, words: str) -> None:
    """Runs the workers, and prints the row of the first."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(PROCESSES)]
    addresses = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
    for one in sockets:
        one.close()
    command = [sys.executable, "-m", __spec__.name, "worker", arm, words]
    running = []
    for index in range(PROCESSES):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        env = {**os.environ, "TF_CONFIG": json.dumps(config)}
        running.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
    outputs = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit(1)
    print(outputs[0].splitlines()[-1])


def measure(arm: str, words: int) -> dict[str, Any] | None:
    """One arm, in processes and a network namespace of its own."""
    command = ["unshare", "--map-root-user", "--net", sys.executable, "-m", __name__, "pair"]
    done = subprocess.run([*command, arm, str(words)], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        print(f"{arm}: {done.stderr[-300:]}", file=sys.stderr)
        return None
    row: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return row


def benchmark(name: str, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures every arm at every size; ratios are to lazy Adam, whose gradients are rows."""
    rows = []
    for words in SIZES:
        base = None
        for arm in ARMS:
            row = measure(arm, words)
            if row is None:
                continue
            base = base or row
            row["ratio"] = processes.times(row["bytes"], base["bytes"], 1)
            row["times_slower"] = processes.times(row["milliseconds"], base["milliseconds"])
            rows.append(runner.keep(name, row, table))
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: kilobytes that both processes send in a step, and its time."""
    lines = [
        "| V | optimizer | distinct rows of a process | kB/step | times the bytes | times slower |",
        "|" + "---|" * 6,
    ]
    for row in rows:
        lines.append(
            f"| {row['V']:,} | {row['arm']} | {row['unique']:.0f} | {row['bytes'] / 1000:,.0f} "
            f"| {row['ratio']:.1f} | {row['times_slower']:.1f} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    if sys.argv[1] == "pair":
        pair(*sys.argv[2:])
    else:
        print(json.dumps(worker(sys.argv[2], int(sys.argv[3]))))
