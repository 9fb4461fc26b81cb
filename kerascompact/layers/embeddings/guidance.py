"""Guidance of KD codes: continuous vectors used in training only."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.ops.unique import token_mean


class _Guidance(keras.layers.Layer):
    """Base: continuous vectors `u` that a `KDCodeEmbedding` uses beside its codes in training."""

    built: bool  # of `keras.layers.Layer`

    def __init__(self, vectors_weight: float, **kwargs: Any) -> None:
        super().__init__(autocast=False, **kwargs)
        self.vectors_weight = checks.number("vectors_weight", vectors_weight, above=0)

    def attach(self, embedding: Any) -> None:
        """Belongs to one embedding, since a second one would replace its vectors.

        It is frozen if the embedding is, before it has weights.
        """
        if self.built:
            checks.fail("guidance", "one that no other layer has", self)
        if not embedding.trainable:
            self.trainable = False
        self.built = True

    def distance(
        self, vectors: tf.Tensor, targets: tf.Tensor, counts: tf.Tensor, vectors_weight: float
    ) -> tf.Tensor:
        """Weighted mean square of `vectors - targets`, over the batch's tokens."""
        square = tf.reduce_mean(tf.square(vectors - targets), axis=range(1, len(vectors.shape)))
        return vectors_weight * token_mean(square, counts)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "vectors_weight": self.vectors_weight}


@register
class OnlineGuidance(_Guidance):
    """Online distillation (ODG): a continuous vector per word, learned at the same time.

    In training a token's vector is `v = m u_i + (1 - m) f(c_i)`, `m ~ Bernoulli(1 - p)` drawn for
    each token, and `alpha * mean((f(c_i) - stop_gradient(u_i))^2)` is added to the loss.
    Inference uses `f(c_i)` only; the `32 V d` bits of `u` are not stored.

    Args:
        vectors_weight: `alpha`, weight of the distance between the vectors. The paper's code uses
            0.1 for its small language model and 1000 for the others.
        kd_probability: Share `p` of tokens that get the codes' vector. The paper's code uses 0.5
            for that model and 0.3 for the others.
        seed: Seed of the draws of `m`.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.
    Shapes: vectors of unique words `(n, d)` and their counts `(n,)` -> a loss and `u` `(n, d)`.
    Storage: nothing; `u` is for training only.
    Raises: ValueError, if `vectors_weight` is not above 0 or `kd_probability` not in `(0, 1]`.
    Example:
    >>> OnlineGuidance(vectors_weight=0.1, kd_probability=0.5).vectors_weight
    0.1

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 3.2.
    """

    def __init__(
        self,
        vectors_weight: float = 1000.0,
        kd_probability: float = 0.3,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vectors_weight, **kwargs)
        self.kd_probability = checks.number("kd_probability", kd_probability, above=0, up_to=1)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.noise = keras.random.SeedGenerator(seed)

    def attach(self, embedding: Any) -> None:
        """Makes the table `u: (V, d)`."""
        super().attach(embedding)
        self.table = self.add_weight(
            shape=(embedding.input_dim, embedding.output_dim),
            initializer=embedding.embeddings_initializer.clone(),
            dtype="float32",
            autocast=False,
            name="table",
        )

    def guide(
        self, embedding: Any, ids: tf.Tensor, vectors: tf.Tensor, counts: tf.Tensor, **_: Any
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Returns the loss, and continuous vectors that may replace those of the codes."""
        own = tf.gather(self.table.value, ids)
        return self.distance(vectors, tf.stop_gradient(own), counts, self.vectors_weight), own

    def choose(self, own: tf.Tensor, composed: tf.Tensor) -> tf.Tensor:
        """Replaces the vector of a token by that of its code with probability `p`."""
        seed = tf.cast(tf.math.floormod(self.noise.next(), tf.int32.max), tf.int32)
        # Philox by name: the default algorithm is 100 times slower under XLA on CPU.
        draw = tf.random.stateless_uniform(
            tf.shape(composed)[:-1], seed, 0, 2**24, tf.int32, alg="philox"
        )
        use_codes = draw < int(self.kd_probability * 2**24)
        return tf.where(tf.expand_dims(use_codes, -1), composed, own)

    def get_config(self) -> dict[str, Any]:
        own = {"kd_probability": self.kd_probability, "seed": self.seed}
        return {**super().get_config(), **own}


@register
class PretrainedGuidance(_Guidance):
    """Pre-trained distillation (PDG): draws the vectors of the codes to those of a trained table.

    Adds `alpha * mean((f(c_i) - u_i)^2)` to the loss, `u` fixed. With `logits_weight` it also
    trains an auto-encoder of the table on the same codebooks, `mean((f(g(u_i)) - u_i)^2)` with
    `g(u) = tanh(u A + a) B + b` of `D K / 2` hidden units, and draws the code logits towards its:
    `logits_weight * mean((pi_i - stop_gradient(g(u_i)))^2)`.

    Args:
        table: `(V, d)` floats, such as the weights of the `keras.layers.Embedding` of the same
            model; `None` only where they are loaded afterwards.
        vectors_weight: `alpha`, weight of the distance between vectors. The paper's code uses 1000,
            or 100 with the auto-encoder.
        logits_weight: `beta`, weight of the distance between logits. 0 trains no auto-encoder; the
            paper's code uses 10 with it.
        **kwargs: Arguments of `keras.layers.Layer`, such as `name`.

    Shapes: vectors of unique words `(n, d)` and their counts `(n,)` -> a loss.
    Storage: nothing; the table and the auto-encoder are for training only.
    Raises: ValueError, if the table does not have the embedding's shape, or is not finite.
    Example:
    >>> guidance = PretrainedGuidance(np.zeros((20, 4)), vectors_weight=100, logits_weight=10)

    Reference: [Chen et al., ICML 2018](https://arxiv.org/abs/1806.09464), sec. 3.2.
    Differs: means instead of sums; `g` is not given there, and its logits are not drawn towards
    the embedding's.
    """

    def __init__(
        self, table: Any, vectors_weight: float = 1000.0, logits_weight: float = 0.0, **kwargs: Any
    ) -> None:
        super().__init__(vectors_weight, **kwargs)
        self.start = None if table is None else checks.finite("table", np.asarray(table, "float32"))
        self.logits_weight = 0.0
        if logits_weight != 0:
            self.logits_weight = checks.number("logits_weight", logits_weight, above=0)
        self.encoder: keras.Sequential | None = None

    def attach(self, embedding: Any) -> None:
        """Takes the table, and makes the encoder `g` if logits are guided."""
        shape = (embedding.input_dim, embedding.output_dim)
        if self.start is not None and self.start.shape != shape:
            raise ValueError(
                f"`table` must have the embedding's shape {shape}. Received: {self.start.shape}."
            )
        super().attach(embedding)
        start = np.zeros(shape, "float32") if self.start is None else self.start
        self.table = self.add_weight(
            shape=shape,
            # Not assigned later: a model that is built by its first batch would lose it.
            initializer=lambda *args, **kwargs: tf.constant(start),
            dtype="float32",
            trainable=False,
            autocast=False,
            name="table",
        )
        self.start = None  # one copy is enough
        if self.logits_weight:
            pairs = embedding.code_length * embedding.cardinality
            self.encoder = keras.Sequential(
                [
                    keras.layers.Dense(max(pairs // 2, 1), "tanh", dtype="float32"),
                    keras.layers.Dense(pairs, dtype="float32"),
                ],
                name="encoder",
            )
            self.encoder.build((None, shape[1]))
            self.encoder.trainable = self.trainable

    def guide(
        self,
        embedding: Any,
        ids: tf.Tensor,
        vectors: tf.Tensor,
        counts: tf.Tensor,
        logits: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Returns the loss; all tokens keep the vectors of their codes."""
        target = tf.gather(self.table.value, ids)
        loss = self.distance(vectors, target, counts, self.vectors_weight)
        if self.encoder is not None:
            coded = tf.reshape(self.encoder(target), tf.shape(logits))
            again = embedding.compose(coded, counts, training=True, track=False)[0]
            loss += self.distance(again, target, counts, 1.0)
            wanted = tf.stop_gradient(coded)
            loss += self.distance(logits, wanted, counts, self.logits_weight)
        return loss, None

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "logits_weight": self.logits_weight}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "PretrainedGuidance":
        return cls(**{"table": None, **config})  # the table is a weight, which is loaded afterwards
