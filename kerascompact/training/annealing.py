"""Callbacks that change the temperature or the noise of code layers during training."""

from collections.abc import Callable
from typing import Any

from kerascompact.core import checks
from kerascompact.core.keras_graph import all_layers
from kerascompact.training.callbacks import CountedSteps


class Annealing(CountedSteps):
    """Base: sets a number of layers before each batch. A subclass names the number.

    With `steps_per_execution`, all steps of a call use the number of the first.

    Args:
        schedule: Function from the step (0 at the first batch) to the number; any
            callable, such as `GeometricDecay` or one of Keras' learning-rate schedules.
    """

    NUMBER: str  # what the logs call it; layers hold it as the weight `current_<number>`
    OF: str  # the layers that have it

    def __init__(self, schedule: Callable[[int], Any]) -> None:
        super().__init__()
        if not callable(schedule):
            checks.fail(
                "schedule", f"a callable: step -> {self.NUMBER.replace('_', ' ')}", schedule
            )
        self.schedule = schedule

    def checked(self, value: float) -> float:
        """The number of a step."""
        raise NotImplementedError(f"{type(self).__name__} must define `checked`.")

    def on_train_begin(self, logs: Any = None) -> None:
        every = all_layers(self.model)
        self.layers = [layer for layer in every if hasattr(layer, f"current_{self.NUMBER}")]
        if not self.layers:
            raise ValueError(
                f"`{type(self).__name__}` must be used with a model that has {self.OF}. "
                f"Received: model={self.model.name!r} without any."
            )

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        super().on_train_batch_begin(batch, logs)
        value = self.checked(float(self.schedule(self.step)))
        for layer in self.layers:
            getattr(layer, f"current_{self.NUMBER}").assign(value)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.step += self.batches_until(batch)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        if logs is not None:
            logs[self.NUMBER] = float(getattr(self.layers[0], f"current_{self.NUMBER}").numpy())


class TemperatureAnnealing(Annealing):
    """Sets the softmax temperature of every embedding of relaxed codes before each batch.

    It applies to all layers of the model with a weight `current_temperature`: those of clusters and
    of codes. A falling temperature makes soft codes one-hot. A layer that draws codes at random and
    trains straight through has one-hot codes at any temperature; it raises, since `NoiseAnnealing`
    is the callback for it. KD and DPQ codes draw nothing; where they train straight through, the
    temperature changes the gradient (and the entropy) only.

    Args:
        schedule: Function from the step (0 at the first batch) to a temperature above 0;
            any callable, such as `GeometricDecay` or one of Keras' learning-rate schedules.

    Raises: ValueError, if the model has no layer with a temperature, or one whose samples do not
        depend on it, the schedule is no callable, or it returns a temperature that is not above 0.

    >>> from kerascompact.training import GeometricDecay
    >>> callback = TemperatureAnnealing(GeometricDecay(0.9, 0.1, steps=1000))

    Reference: [Jang et al., ICLR 2017](https://arxiv.org/abs/1611.01144), sec. 2.2.
    """

    NUMBER = "temperature"
    OF = "embeddings of clusters or of relaxed codes"

    def checked(self, value: float) -> float:
        return checks.number("schedule(step)", value, above=0)

    def on_train_begin(self, logs: Any = None) -> None:
        super().on_train_begin(logs)
        for layer in self.layers:
            if hasattr(layer, "current_noise_scale") and layer.straight_through:
                raise ValueError(
                    "`TemperatureAnnealing` must be used with layers whose samples depend on the "
                    "temperature: with straight_through=True they are always one-hot. Use "
                    "`NoiseAnnealing`, or build the layer with straight_through=False. "
                    f"Received: layer {layer.path!r} with straight_through=True."
                )


class NoiseAnnealing(Annealing):
    """Sets the scale of the Gumbel noise of every cluster embedding before each batch.

    That is every layer, wherever it sits in the model, with a weight `current_noise_scale`:
    `ClusterEmbedding`, those built on it, and `CompositionalCodeEmbedding`. The largest entry of a
    sample is `argmax_j (a_j + s g_j)`: with `s = 1` a draw from `softmax(a)`, with `s = 0` what
    ships.

    Args:
        schedule: Step (0 at the first batch) -> noise scale `s >= 0`; any callable, such
            as `GeometricDecay` or one of Keras' learning-rate schedules.

    Raises: ValueError, if the model has no layer that draws noise, the schedule is no callable, or
        it returns a negative number.

    >>> callback = NoiseAnnealing(keras.optimizers.schedules.PolynomialDecay(1.0, 1000, 0.0))
    """

    NUMBER = "noise_scale"
    OF = "cluster or compositional code embeddings"

    def checked(self, value: float) -> float:
        return checks.number("schedule(step)", value, at_least=0)
