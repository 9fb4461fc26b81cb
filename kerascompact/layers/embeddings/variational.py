"""Base of the variational-dropout embeddings: one KL term per word, charged when it occurs."""

from typing import Any

import keras
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.ops.replicas import gathered, replicas, taking_turns
from kerascompact.ops.unique import occurrences

CHARGES = ("batch", "all")


class VariationalEmbedding(CompactEmbedding):
    """Base: a table with a posterior for each word and `sum_i KL_i` in the loss.

    A batch charges only its own words, so that a step costs only their rows: word `i` is charged
    `kl_weight * n_i KL_i`, with `n_i` the number of steps since its last charge. For gradient
    descent that is the sum over all words at each step, but Adam makes a step of one size of a
    charge of any size: a word that occurs seldom hardly gains noise. With `charge="all"` each step
    charges all words, as the papers do, and reads the noise of all. Inputs of a model that share
    the layer count as one batch. A word that never occurs in training is dropped.
    A frozen layer (`trainable = False`) is called in training as in inference.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        kl_weight: Weight of the divergence beside the mean loss of a text. 1 / (number of training
            texts) gives the variational bound.
        warmup: Number of steps in which the weight rises linearly from 0.
        threshold: Threshold of `log alpha`, the noise-to-signal ratio; what is at or above it is
            dropped.
        charge: Which words a step charges, those of the "batch" or "all".
        seed: Seed of the noise.
        **kwargs: Arguments of `CompactEmbedding`.

    Raises: ValueError, for a wrong argument.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        kl_weight: float,
        *,
        warmup: int = 0,
        threshold: float = 3.0,
        charge: str = "batch",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.charge = checks.choice("charge", charge, CHARGES)
        self.kl_weight = checks.number("kl_weight", kl_weight, above=0)
        self.warmup = checks.integer_in("warmup", warmup, 0)
        self.threshold = checks.number("threshold", threshold, above=-10, up_to=10)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.noise = keras.random.SeedGenerator(seed)
        self._charged: tf.Tensor | None = None  # by the call before this one

    def build(self, input_shape: Any = None) -> None:
        shape = (self.input_dim, self.output_dim)
        self.table = self.add_vectors("table", shape, self.take_start())
        self.steps = self._counter("steps", ())
        self.paid = self._counter("paid", (self.input_dim,))

    def _counter(self, name: str, shape: tuple[int, ...]) -> keras.Variable:
        return self.add_weight(
            shape=shape,
            initializer="zeros",
            dtype="int32",
            trainable=False,
            autocast=False,
            aggregation="only_first_replica",
            name=name,
        )

    def add_rows(self, name: str, shape: tuple[int, ...], initializer: Any) -> keras.Variable:
        """A trainable float32 variable with a row for each word."""
        initializer = keras.initializers.get(initializer)
        return self.add_weight(
            shape=shape, initializer=initializer, dtype="float32", autocast=False, name=name
        )

    def draws(self, training: bool | None) -> bool:
        """Whether a call draws noise and charges words: in training, unless the layer is frozen.

        A charge marks a word as met, so that a frozen layer would begin to give it a vector.
        """
        return bool(training) and self.trainable

    def divergences(self) -> tf.Tensor:
        """Divergences of the posteriors of all words, `(V,)`."""
        raise NotImplementedError(f"{type(self).__name__} must define `divergences`.")

    def add_divergence(self, unique: tf.Tensor, inverse: tf.Tensor, divergence: tf.Tensor) -> None:
        """Adds the KL terms of the words of a batch, or of all words, to the loss.

        Inputs that share the layer count as one step: a word in several of them is charged once.
        Padding, id 0 with `mask_zero`, is never charged. A step that `LossScaleOptimizer` leaves
        out, as its first ones, counts as one that was made.

        Args:
            unique: Unique ids, `(n,)`, from `unique_ids`.
            inverse: Position of every token's id in `unique`.
            divergence: Divergences of their posteriors, `(n,)`.
        """
        # Keras drops the losses of a model when it is called again.
        first = not any(loss is self._charged for loss in self.losses)
        if first:
            with taking_turns():
                self.steps.assign_add(1)
        of_all = gathered(unique)
        steps = tf.convert_to_tensor(self.steps.value)
        owed = self._weights_between(tf.gather(self.paid.value, unique), steps)
        if replicas() > 1:  # those that have the word share its charge; Keras averages over all
            owed *= replicas() / _counts(unique, of_all)
        # `steps` once per row, for any shape that XLA gives `unique`.
        now = tf.ones_like(of_all) * steps
        if self.mask_zero:
            now = tf.where(tf.not_equal(of_all, 0), now, 0)
        charged = occurrences(unique, inverse, self.mask_zero) > 0
        divergence = tf.where(charged, divergence, 0.0)
        with taking_turns():
            self.paid.value.scatter_update(tf.IndexedSlices(now, of_all))
        if self.charge == "all":
            if not first:
                return
            divergence = self.divergences()[int(self.mask_zero) :]
            owed = self._weights_between(steps - 1, steps)
        self._charged = self.kl_weight * tf.reduce_sum(owed * divergence)
        self.add_loss(self._charged)

    def _weights_between(self, paid: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
        """The sum of the weights, `min(1, s / warmup)`, of the steps `s` after `paid`."""
        warm = max(self.warmup, 1)
        ends = [tf.cast(tf.minimum(end, warm), tf.float32) for end in (paid, steps)]
        rising = [end * (end + 1.0) / (2.0 * warm) for end in ends]
        whole = tf.maximum(steps, warm) - tf.maximum(paid, warm)
        return rising[1] - rising[0] + tf.cast(whole, tf.float32)

    def met(self, ids: tf.Tensor) -> tf.Tensor:
        """Which words have occurred in training; all of them before training."""
        return tf.logical_or(tf.gather(self.paid.value, ids) > 0, tf.equal(self.steps.value, 0))

    def variational_config(self) -> dict[str, Any]:
        """The arguments that the methods share."""
        return {
            "kl_weight": self.kl_weight,
            "warmup": self.warmup,
            "threshold": self.threshold,
            "charge": self.charge,
            "seed": self.seed,
        }

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.variational_config()}


def _counts(ids: tf.Tensor, among: tf.Tensor) -> tf.Tensor:
    """How often each id occurs among others, as float32."""
    ordered = tf.sort(among)
    ends = [tf.searchsorted(ordered, ids, side) for side in ("right", "left")]
    return tf.cast(ends[0] - ends[1], tf.float32)
