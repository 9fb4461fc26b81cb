"""Steps of other libraries, for those of their packages that are installed.

PyTorch and TensorFlow do not get along in one process: PyTorch has its own, which takes a step
whenever it is told a number.
"""

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[int], float]  # CPU seconds of a step on a batch of that number
BATCHES, CLASSES = 4, 4  # different batches, in turn


def batches(words: int, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Ids `(BATCHES, *shape)` drawn by Zipf's law, and labels."""
    random = np.random.default_rng(0)
    ids = ((random.zipf(1.1, (BATCHES, *shape)) - 1) % words).astype(np.int32)
    return ids, random.integers(0, CLASSES, (BATCHES, shape[0]))


def timed(step: Callable[..., Any], words: int, shape: tuple[int, int]) -> Step:
    """The CPU time of a function of ids and labels."""
    ids, labels = batches(words, shape)

    def seconds(number: int) -> float:
        start = time.process_time()
        step(ids[number % BATCHES], labels[number % BATCHES])
        return time.process_time() - start

    return seconds


def other_steps(
    words: int, shape: tuple[int, int], width: int, jit_compile: bool
) -> dict[str, Step]:
    """A step of a mean classifier, by arm: tf_keras, and PyTorch with sparse gradients."""
    found: dict[str, Step] = {}
    if importlib.util.find_spec("tf_keras"):
        step = _tf_keras(words, width, jit_compile)
        found["tf_keras Embedding, Adam"] = timed(step, words, shape)
    if importlib.util.find_spec("torch") and not jit_compile:
        found["torch Embedding, SparseAdam"] = _told(words, *shape, width)
    return found


def _tf_keras(words: int, width: int, jit_compile: bool) -> Callable[..., Any]:
    import tf_keras

    parts = [
        tf_keras.layers.Embedding(words, width),
        tf_keras.layers.GlobalAveragePooling1D(),
        tf_keras.layers.Dense(CLASSES, activation="softmax"),
    ]
    model = tf_keras.Sequential(parts)
    loss = "sparse_categorical_crossentropy"
    model.compile(tf_keras.optimizers.Adam(), loss, jit_compile=jit_compile)
    return model.train_on_batch


def _torch(words: int, width: int) -> Callable[..., Any]:
    import torch

    torch.set_num_threads(1)
    table, head = torch.nn.Embedding(words, width, sparse=True), torch.nn.Linear(width, CLASSES)
    optimizers = [
        torch.optim.SparseAdam(table.parameters()),
        torch.optim.Adam(head.parameters()),
    ]

    def step(ids: np.ndarray, labels: np.ndarray) -> float:
        logits = head(table(torch.from_numpy(ids)).mean(dim=1))
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(labels))
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
        return float(loss.detach())  # the number that `train_on_batch` returns

    return step


def _told(*sizes: int) -> Step:
    """A step of the process that this module is when it is run."""
    command = [sys.executable, "-m", __name__, *map(str, sizes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    told, answers = process.stdin, process.stdout

    def seconds(number: int) -> float:
        told.write(f"{number}\n")
        told.flush()
        return float(answers.readline())

    return seconds  # the process ends with the pipe


if __name__ == "__main__":
    size, *batch, columns = map(int, sys.argv[1:])
    step_of = timed(_torch(size, columns), size, (batch[0], batch[1]))
    for line in sys.stdin:
        print(step_of(int(line)), flush=True)
