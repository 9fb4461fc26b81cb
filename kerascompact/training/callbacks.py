"""Keras callbacks for compact layers."""

from collections.abc import Callable
from typing import Any

import keras

from kerascompact.core import checks


class TemperatureAnnealing(keras.callbacks.Callback):
    """Sets the Gumbel-softmax temperature of every cluster embedding before each batch.

    That is every layer, wherever it sits in the model, with a weight `current_temperature`.

    Args:
        schedule: Step (0 at the first batch of `fit`) -> temperature above 0; any callable, such
            as `GeometricDecay` or one of Keras' learning-rate schedules.

    Raises: ValueError, if the model has no layer with a temperature, the schedule is no callable,
        or it returns a temperature that is not above 0.

    >>> from kerascompact.training import GeometricDecay
    >>> callback = TemperatureAnnealing(GeometricDecay(0.9, 0.1, steps=1000))

    Reference: [Jang et al., ICLR 2017](https://arxiv.org/abs/1611.01144), sec. 2.2.
    """

    def __init__(self, schedule: Callable[[int], Any]) -> None:
        super().__init__()
        if not callable(schedule):
            checks.fail("schedule", "a callable: step -> temperature", schedule)
        self.schedule = schedule
        self.step = 0

    def on_train_begin(self, logs: Any = None) -> None:
        every = self.model._flatten_layers()
        self.layers = [layer for layer in every if hasattr(layer, "current_temperature")]
        if not self.layers:
            raise ValueError(
                "`TemperatureAnnealing` must be used with a model that has cluster embeddings. "
                f"Received: model={self.model.name!r} without any."
            )

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        temperature = checks.number("schedule(step)", float(self.schedule(self.step)), above=0)
        for layer in self.layers:
            layer.current_temperature.assign(temperature)
        self.step += 1

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs["temperature"] = float(self.layers[0].current_temperature.numpy())


class ResetStates(keras.callbacks.Callback):
    """Sets the states of stateful RNNs to zero where a text begins.

    That is at the start of every epoch and of every evaluation; without it a stateful model starts
    to read its training text with the state that the end of the development text left.

    >>> callback = ResetStates()
    """

    def _reset(self) -> None:
        for layer in self.model._flatten_layers():
            if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
                layer.reset_state()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._reset()

    def on_test_begin(self, logs: Any = None) -> None:
        self._reset()
