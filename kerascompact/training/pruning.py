"""Magnitude pruning: small weights become zeros during training."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.keras_graph import inner_layers, parts_of, slots, trained_by
from kerascompact.ops.magnitude import entries_left, largest_entries
from kerascompact.optimizers.pending import catch_up
from kerascompact.training.callbacks import CountedSteps


class MagnitudePruning(CountedSteps):
    """Sets the smallest entries of weight matrices to zero, and keeps them there.

    After each batch the schedule says whether to choose new entries, and the share to set to zero;
    the largest entries of each matrix are kept. All others are set to zero after every batch, at
    the cost of the entire matrix, also in the averages of an optimizer with `use_ema`, and again
    when training ends (which assigns the averages).

    A later `fit` continues with the same callback object. A new one begins at step 0 without zeros
    until it chooses; if the first epoch is not 0, as with `initial_epoch` and after
    `keras.callbacks.BackupAndRestore`, at the step of that epoch with the zeros that there are,
    until the next choice also those that were never pruned, such as rows that began at 0.
    With `optimizers.Proximal`, deferred steps are applied before entries are compared.

    Stored as its entries that are not zero, a pruned `keras.layers.Embedding` is smaller:
    `compress.compress_model(model, compress.Pruning())`. A `.tflite` file stores the zeros of other
    kernels, so that only its compressed size falls, such as in the package of an app. An LSTM and
    two dense layers of 75,000 weights take 311 kB, gzipped 284 kB; of 80 % zeros 311 kB and 78 kB,
    and with kernels of int8 (recipe "int8") 90 kB and 33 kB.

    Args:
        schedule: Function from the step (0 after the first batch of `fit`) to `(bool, share)`:
            whether to choose, and the share in `[0, 1)`. Any callable, such as `PolynomialDecay`
            and `ConstantSparsity` of tensorflow-model-optimization. With `steps_per_execution`, it
            is called for each step, and only the last result is applied.
        layers: Names or classes of the layers whose trainable matrices are pruned (kernels of two
            dimensions or more, no biases): `[keras.layers.Dense, "lstm"]`. Default: every
            `keras.layers.Embedding`.

    Raises: ValueError, if the model has no such layer or matrix, or the schedule returns something
        else.

    >>> halves = lambda step: (step % 100 == 0, min(step / 1000, 0.5))
    >>> callback = MagnitudePruning(halves, layers=[keras.layers.Dense, keras.layers.LSTM])

    Reference: [Zhu & Gupta, 2017](https://arxiv.org/abs/1710.01878), sec. 3. Differs: gradients of
    entries that are zeros reach the optimizer's moments.
    """

    def __init__(
        self, schedule: Callable[[int], Any], layers: Sequence[str | type] | None = None
    ) -> None:
        super().__init__()
        if not callable(schedule):
            checks.fail("schedule", "a callable: step -> (bool, sparsity)", schedule)
        self.schedule = schedule
        self.chosen = [layers] if isinstance(layers, str | type) else layers
        self.masks: dict[int, np.ndarray] = {}  # by the identity of a matrix: names may repeat

    def on_train_begin(self, logs: Any = None) -> None:
        every = inner_layers(self.model)
        found = []
        for which in [keras.layers.Embedding] if self.chosen is None else self.chosen:
            layers = [layer for layer in every if _is(layer, which)]
            if not layers and self.chosen is not None:
                known = ", ".join(layer.name for layer in every)
                checks.fail("layers", f"names of layers, {known}, or their classes", which)
            found.extend(layers)
        # A layer inside another, such as the LSTMs of a Bidirectional, may be found twice.
        weights = {id(weight): weight for layer in found for weight in layer.trainable_weights}
        self.matrices = [w for w in weights.values() if len(w.shape) > 1 and "bias" not in w.name]
        if not self.matrices:
            raise ValueError(
                "`MagnitudePruning` must be used with a model that has trainable matrices in the "
                f"layers to prune. Received: model={self.model.name!r} without any."
            )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if epoch and not self.step:
            arrays = {id(weight): array for weight, array in self._arrays()}
            self.masks = {key: array != 0 for key, array in arrays.items() if not array.all()}
        super().on_epoch_begin(epoch, logs)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        choose, sparsity = False, 0.0
        for _ in range(self.batches_until(batch)):
            now, share = self._read(self.schedule(self.step))
            choose, sparsity = choose or now, share if now else sparsity
            self.step += 1
        for weight, values in self._arrays() if choose else ():
            count = entries_left(values.size, sparsity)
            self.masks[id(weight)] = largest_entries(values, count)
        self._set_zeros()

    def on_train_end(self, logs: Any = None) -> None:
        self._set_zeros()

    def _arrays(self) -> Iterator[tuple[Any, np.ndarray]]:
        """The matrices and their numbers, without steps that rows owe."""
        catch_up(self.model)
        for weight in self.matrices:
            yield weight, keras.ops.convert_to_numpy(weight)

    def _set_zeros(self) -> None:
        for weight in self.matrices:
            if id(weight) in self.masks:
                for variable in (weight, *self._averages_of(weight)):
                    variable.assign(keras.ops.where(self.masks[id(weight)], variable, 0.0))

    def _averages_of(self, weight: Any) -> list[Any]:
        """The average that an optimizer keeps of a weight, which `SwapEMAWeights` evaluates."""
        parts = parts_of(self.model.optimizer)  # `None`, if the model trains without one
        averaging = [one for one in parts if getattr(one, "use_ema", False) and one.built]
        pairs = [zip(trained_by(one), slots(one, "averages"), strict=True) for one in averaging]
        return [average for variable, average in chain(*pairs) if variable is weight]

    def _read(self, found: Any) -> tuple[bool, float]:
        if not isinstance(found, list | tuple) or len(found) != 2:
            checks.fail("schedule(step)", "a pair (bool, sparsity)", found)
        choose, sparsity = bool(np.asarray(found[0])), float(np.asarray(found[1]))
        if choose and not 0 <= sparsity < 1:
            checks.fail("schedule(step)[1]", "a sparsity in [0, 1)", sparsity)
        return choose, sparsity

    def sparsity(self) -> float:
        """Share of zeros in the pruned matrices."""
        arrays = [array for _, array in self._arrays()]
        left = sum(np.count_nonzero(array) for array in arrays)
        return 1 - left / sum(array.size for array in arrays)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["sparsity"] = self.sparsity()


def _is(layer: Any, which: str | type) -> bool:
    return isinstance(layer, which) if isinstance(which, type) else layer.name == which
