"""Learning-rate schedules."""

from typing import Any

import keras
from keras import ops

from kerascompact.core import checks
from kerascompact.core.registration import register


@register
class GeometricDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Decays from one number to another by equal factors, then stays.

    `value(s) = start * (end / start) ** min(s / steps, 1)`. It serves as a temperature schedule
    and, being a Keras schedule, as a learning rate.

    Args:
        start: Value at step 0, above 0.
        end: Value from step `steps` on, above 0.
        steps: Number of steps, at least 1.

    Raises: ValueError, if a number is out of range.

    >>> decay = GeometricDecay(1.0, 0.25, steps=2)
    >>> [float(decay(step)) for step in (0, 1, 2, 9)]
    [1.0, 0.5, 0.25, 0.25]

    Reference: [Jang et al., ICLR 2017](https://arxiv.org/abs/1611.01144), sec. 4, anneals the
    temperature exponentially. Differs: named by its ends instead of a rate.
    """

    def __init__(self, start: float, end: float, steps: int) -> None:
        super().__init__()
        self.start = checks.number("start", start, above=0)
        self.end = checks.number("end", end, above=0)
        self.steps = checks.integer_in("steps", steps, 1)

    def __call__(self, step: Any) -> Any:
        done = ops.minimum(ops.cast(step, "float32") / self.steps, 1.0)
        return self.start * ops.power(self.end / self.start, done)

    def get_config(self) -> dict[str, Any]:
        return {"start": self.start, "end": self.end, "steps": self.steps}


@register
class EpochDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Holds a learning rate for some epochs, then multiplies it by a factor in each further one.

    `rate(s) = start * factor ** max(epoch + 1 - hold, 0)`, `epoch = s // steps_per_epoch`.

    Args:
        start: Rate of the first `hold` epochs, above 0.
        factor: Factor of each further epoch, in `(0, 1]`.
        hold: Number of epochs at the full rate, at least 0.
        steps_per_epoch: Number of batches in an epoch, which is what Keras counts for a rate, also
            where gradients of several are accumulated.

    Raises: ValueError, if a number is out of range.

    >>> decay = EpochDecay(1.0, 0.5, hold=2, steps_per_epoch=10)
    >>> [float(decay(step)) for step in (0, 19, 20, 30)]
    [1.0, 1.0, 0.5, 0.25]

    Reference: [Zaremba et al., 2014](https://arxiv.org/abs/1409.2329), sec. 4.1.
    """

    def __init__(self, start: float, factor: float, hold: int, steps_per_epoch: int) -> None:
        super().__init__()
        self.start = checks.number("start", start, above=0)
        self.factor = checks.number("factor", factor, above=0, up_to=1)
        self.hold = checks.integer_in("hold", hold, 0)
        self.steps_per_epoch = checks.integer_in("steps_per_epoch", steps_per_epoch, 1)

    def __call__(self, step: Any) -> Any:
        epoch = ops.cast(ops.floor_divide(step, self.steps_per_epoch), "float32")
        return self.start * ops.power(self.factor, ops.maximum(epoch + 1.0 - self.hold, 0.0))

    def get_config(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "factor": self.factor,
            "hold": self.hold,
            "steps_per_epoch": self.steps_per_epoch,
        }
