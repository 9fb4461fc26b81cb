"""Steps of other libraries, for those of their packages that are installed."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[np.ndarray, np.ndarray], Any]


def other_steps(words: int, width: int, classes: int, jit_compile: bool) -> dict[str, Step]:
    """A step of a mean classifier, by arm: PyTorch with sparse gradients, and tf_keras."""
    found: dict[str, Step] = {}
    if importlib.util.find_spec("tf_keras"):
        found["tf_keras Embedding, Adam"] = _tf_keras(words, width, classes, jit_compile)
    if importlib.util.find_spec("torch") and not jit_compile:
        found["torch Embedding, SparseAdam"] = _torch(words, width, classes)
    return found


def _tf_keras(words: int, width: int, classes: int, jit_compile: bool) -> Step:
    import tf_keras

    parts = [
        tf_keras.layers.Embedding(words, width),
        tf_keras.layers.GlobalAveragePooling1D(),
        tf_keras.layers.Dense(classes, activation="softmax"),
    ]
    model = tf_keras.Sequential(parts)
    loss = "sparse_categorical_crossentropy"
    model.compile(tf_keras.optimizers.Adam(), loss, jit_compile=jit_compile)
    return model.train_on_batch


def _torch(words: int, width: int, classes: int) -> Step:
    import torch  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    table, head = torch.nn.Embedding(words, width, sparse=True), torch.nn.Linear(width, classes)
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
