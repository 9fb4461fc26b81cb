"""Magnitude pruning: small weights become zeros while the model is trained."""

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.ops.magnitude import entries_left, largest_entries


class MagnitudePruning(keras.callbacks.Callback):
    """Sets the smallest entries of weight matrices to zero, and keeps them there.

    After each batch the schedule says whether to choose anew and which share of the entries to set
    to zero: then the largest of each matrix are chosen. What was not chosen last is set to zero
    after every batch, which costs as much as the whole matrix.

    Stored as its entries that are not zero, a pruned `keras.layers.Embedding` is smaller:
    `compress.compress_model(model, compress.Pruning())`.

    Args:
        schedule: Step (0 after the first batch of `fit`) -> `(bool, share)`, whether to choose and
            the share in `[0, 1)`; any callable, such as `PolynomialDecay` and `ConstantSparsity` of
            tensorflow-model-optimization.
        layers: Names of the layers whose trainable matrices are pruned. Default: every
            `keras.layers.Embedding`.

    Raises: ValueError, if the model has no such layer or matrix, or the schedule returns something
        else.

    >>> halves = lambda step: (step % 100 == 0, min(step / 1000, 0.5))
    >>> callback = MagnitudePruning(halves)

    Reference: [Zhu & Gupta, 2017](https://arxiv.org/abs/1710.01878), sec. 3. Differs: gradients of
    entries that are zeros reach the optimizer's moments.
    """

    def __init__(self, schedule: Callable[[int], Any], layers: Sequence[str] | None = None) -> None:
        super().__init__()
        if not callable(schedule):
            checks.fail("schedule", "a callable: step -> (bool, sparsity)", schedule)
        self.schedule = schedule
        self.names = [layers] if isinstance(layers, str) else layers
        self.step = 0
        self.masks: dict[str, np.ndarray] = {}

    def on_train_begin(self, logs: Any = None) -> None:
        every = self.model._flatten_layers()
        if self.names is None:
            chosen = [layer for layer in every if isinstance(layer, keras.layers.Embedding)]
        else:
            known = [layer.name for layer in every]
            for name in self.names:
                if name not in known:
                    checks.fail("layers", f"names of layers, {', '.join(known)}", name)
            chosen = [layer for layer in every if layer.name in self.names]
        weights = [weight for layer in chosen for weight in layer.trainable_weights]
        self.matrices = [weight for weight in weights if len(weight.shape) > 1]
        if not self.matrices:
            raise ValueError(
                "`MagnitudePruning` must be used with a model that has trainable matrices in the "
                f"layers to prune. Received: model={self.model.name!r} without any."
            )

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        choose, sparsity = self._read(self.schedule(self.step))
        self.step += 1
        for weight in self.matrices:
            if choose:
                values = keras.ops.convert_to_numpy(weight)
                count = entries_left(values.size, sparsity)
                self.masks[weight.path] = largest_entries(values, count)
            if weight.path in self.masks:
                weight.assign(keras.ops.where(self.masks[weight.path], weight, 0.0))

    def _read(self, found: Any) -> tuple[bool, float]:
        if not isinstance(found, list | tuple) or len(found) != 2:
            checks.fail("schedule(step)", "a pair (bool, sparsity)", found)
        choose, sparsity = bool(np.asarray(found[0])), float(np.asarray(found[1]))
        if choose and not 0 <= sparsity < 1:
            checks.fail("schedule(step)[1]", "a sparsity in [0, 1)", sparsity)
        return choose, sparsity

    def sparsity(self) -> float:
        """The share of zeros in the pruned matrices."""
        arrays = [keras.ops.convert_to_numpy(weight) for weight in self.matrices]
        left = sum(np.count_nonzero(array) for array in arrays)
        return 1 - left / sum(array.size for array in arrays)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["sparsity"] = self.sparsity()
