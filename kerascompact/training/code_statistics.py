"""Callback that counts how many words share a code, and how many codes an epoch changed."""

from typing import Any

import keras
import numpy as np

from kerascompact.core.keras_graph import all_layers


class CodeStatistics(keras.callbacks.Callback):
    """Logs statistics of the codes of every coded layer after each epoch.

    - `code_collisions`: share of words that share their entire code with another word;
    - `codes_changed`: share of code entries that the epoch has changed;
    - `words_changed`: share of words with a changed entry.

    Codes that still change when the learning rate has fallen are not learned yet. Many collisions
    mean that the code is too short, or that rare words were not separated. A layer is coded if
    it has a method `codes()`. With more than one in the model, each number is logged for each,
    as `<layer>/code_collisions`. Each epoch computes all codes once: 268,000 words of 32 codes
    take 34 MB of memory.

    Attributes:
        history: Numbers after each epoch by name, over all calls of `fit`.

    Raises: ValueError, at the start of training, if no layer of the model is coded.

    >>> from kerascompact.layers import KDCodeEmbedding
    >>> model = keras.Sequential([keras.Input((1,), dtype="int32"), KDCodeEmbedding(9, 2, 2, 2)])
    >>> model.compile("sgd", "mse")
    >>> statistics = CodeStatistics()
    >>> _ = model.fit(np.array([[1]]), np.zeros((1, 1, 2)), verbose=0, callbacks=[statistics])
    >>> sorted(statistics.history)
    ['code_collisions', 'codes_changed', 'words_changed']

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 2.2, on collisions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[float]] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        every = all_layers(self.model)
        self.layers = [layer for layer in every if callable(getattr(layer, "codes", None))]
        if not self.layers:
            raise ValueError(
                "`CodeStatistics` must be used with a model that has coded embeddings. "
                f"Received: model={self.model.name!r} without any."
            )
        self.before: list[np.ndarray] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if not self.before:  # not before a callback that restores weights as training begins
            self.before = [_narrow(layer.codes()) for layer in self.layers]

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        for index, layer in enumerate(self.layers):
            codes = _narrow(layer.codes())
            entries, words = codes_changed(self.before[index], codes)
            self.before[index] = codes
            prefix = "" if len(self.layers) == 1 else f"{layer.name}/"
            numbers = {
                f"{prefix}code_collisions": code_collisions(codes),
                f"{prefix}codes_changed": entries,
                f"{prefix}words_changed": words,
            }
            for name, number in numbers.items():
                self.history.setdefault(name, []).append(number)
            if logs is not None:
                logs.update(numbers)


def code_collisions(codes: np.ndarray) -> float:
    """Share of words whose code, `(V, D)`, is also that of another word.

    >>> code_collisions(np.array([[1, 2], [0, 2], [1, 2], [3, 3]]))
    0.5
    """
    codes = np.ascontiguousarray(_narrow(codes))
    rows = codes.view(f"V{codes.shape[1] * codes.itemsize}")  # each row as one item
    counts = np.unique(rows, return_counts=True)[1]
    return float(counts[counts > 1].sum() / len(codes))


def codes_changed(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Shares of entries, and of words, whose codes `(V, D)` differ.

    >>> codes_changed(np.array([[1, 2], [0, 2]]), np.array([[1, 2], [0, 3]]))
    (0.25, 0.5)
    """
    differs = before != after
    return float(differs.mean()), float(differs.any(axis=1).mean())


def _narrow(codes: np.ndarray) -> np.ndarray:
    """The same codes in the smallest unsigned integers that hold them."""
    return codes.astype(np.min_scalar_type(int(codes.max())))
