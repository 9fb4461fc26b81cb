"""Back-propagation through time over random lengths, with the learning rate that belongs to each.

Truncated always at the same places, a text has words that never learn from those before them.
"""

from typing import Any

import keras
import numpy as np

from kerascompact.core import checks
from kerascompact.core.keras_graph import parts_of
from kerascompact.text.stream import batches_until, streams


class RandomSteps(keras.callbacks.Callback):
    """Batches of running text whose lengths are random, each trained at a rate of its length.

    `n = max(shortest, int(x))` with `x ~ N(m, deviation^2)`, where `m` is `steps`, or `steps / 2`
    in a share `half` of the batches; the learning rate is `rate n / steps`, that of each optimizer
    if there are several (`keras.optimizers.MultiOptimizer`). Lengths are drawn anew
    for every epoch, and the batches cover every stream without gaps: row `b` of a batch continues
    row `b` of the batch before, as with `text.stream.stateful_batches`.

    Train on `batches`, with this object among the callbacks and without shuffling:
    `model.fit(random.batches, callbacks=[random, ResetStates()], shuffle=False)`. It comes first:
    between batches the optimizer has its own rate again, which is what others then log and save.

    All lengths share one trace. With `jit_compile=True`, XLA compiles a program for each of them:
    some 60 at 70 steps, for an AWD-LSTM 7 (dense) to 18 seconds (sparse) each. Leave it off.

    Args:
        ids: Text, integers `(tokens,)`.
        batch_size: Number of streams.
        steps: Number of tokens of a stream in a batch, in most of the draws; at this length the
            rate is that of the optimizer.
        half: Share of the batches that are half as long.
        deviation: Standard deviation of the lengths.
        shortest: Smallest length; the last batch of an epoch may be shorter.
        seed: Seed of the lengths; those of an epoch depend on it and on the number of the epoch, so
            that a run that goes on after a stop draws the same.

    Raises: ValueError, if an argument is out of range, the text is shorter than two tokens a
        stream, the optimizer has a schedule or accumulates gradients, `steps_per_execution` is not
        1, or `fit` trains on other batches.
    Example:
    >>> random = RandomSteps(np.arange(2_002), batch_size=2, steps=70)
    >>> int(random.lengths.sum()), len(random.lengths) == len(random.batches)
    (1000, True)

    Reference: [Merity et al., ICLR 2018](https://arxiv.org/abs/1708.02182), sec. 4.1, and the code
    of the paper, from which `half`, `deviation` and `shortest` are.
    Differs: an epoch always has the same number of batches, the median one: other draws are
    repeated, since Keras counts the batches of an epoch once. The last batch, cut by the end of the
    text, has the rate of the length it has, not of the one drawn.
    """

    def __init__(
        self,
        ids: np.ndarray,
        batch_size: int,
        steps: int,
        *,
        half: float = 0.05,
        deviation: float = 5.0,
        shortest: int = 5,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.steps = checks.integer_in("steps", steps, 1)
        self.half = checks.number("half", half, at_least=0, up_to=1)
        self.deviation = checks.number("deviation", deviation, at_least=0)
        self.shortest = checks.integer_in("shortest", shortest, 1)
        self.seed = checks.integer_in("seed", seed, 0)
        rows = streams(ids, batch_size, 1, 1)
        self.tokens = rows.shape[1] - 1
        draws = [self._draw(np.random.default_rng([self.seed, 0, n])) for n in range(51)]
        number = sorted(map(len, draws))[25]
        self.lengths = next(lengths for lengths in draws if len(lengths) == number)
        self.batches = batches_until(rows, lambda: np.cumsum(self.lengths), number, None)
        self._rates: list[float] = []

    def on_train_begin(self, logs: Any = None) -> None:
        for one in parts_of(self.model.optimizer):
            if isinstance(one.get_config().get("learning_rate"), dict):
                checks.fail("optimizer", "one with a constant learning rate, no schedule", one)
            if one.gradient_accumulation_steps:
                wanted = "one without `gradient_accumulation_steps`, as each batch has its own rate"
                checks.fail("optimizer", wanted, one.gradient_accumulation_steps)
        if self.model.steps_per_execution != 1:
            steps = self.model.steps_per_execution
            checks.fail("steps_per_execution", "1, as each batch has its own rate", steps)
        if self.params.get("steps") != len(self.lengths):
            expected = f"the {len(self.lengths)} batches of this callback"
            checks.fail("x", expected, self.params.get("steps"))

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        random, number = np.random.default_rng([self.seed, 1, epoch]), len(self.lengths)
        self.lengths = self._draw(random)
        while len(self.lengths) != number:
            self.lengths = self._draw(random)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        self._rates = [float(one.learning_rate) for one in parts_of(self.model.optimizer)]
        self._set_rates(self.lengths[batch] / self.steps)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._set_rates(1.0)  # the ones that are logged and saved

    def _set_rates(self, share: float) -> None:
        for one, rate in zip(parts_of(self.model.optimizer), self._rates, strict=True):
            one.learning_rate = rate * share

    def _draw(self, random: np.random.Generator) -> np.ndarray:
        """Lengths of batches that cover a stream."""
        most = -(-self.tokens // self.shortest)
        means = np.where(random.random(most) < self.half, self.steps / 2, self.steps)
        lengths = np.maximum(self.shortest, random.normal(means, self.deviation).astype(int))
        stops = np.minimum(np.cumsum(lengths), self.tokens)
        return np.diff(stops[: np.searchsorted(stops, self.tokens) + 1], prepend=0)
