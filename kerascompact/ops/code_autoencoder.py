"""Auto-encoder of a table with codes in its middle."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from kerascompact.ops import additive
from kerascompact.ops.code_encoder import code_logits, hidden_units
from kerascompact.ops.gumbel import gumbel_softmax
from kerascompact.ops.vocabulary_chunks import rows_in_chunks


class EncodedTable(NamedTuple):
    """Codes, codebooks and encoder of a table.

    `codes`: `(V, M)`. `codebooks`: `(M, K, d)`. `encoder`: `A`, `a'`, `B`, `b'` of
    `ops.code_encoder.code_logits`, which give these codes for the rows divided by `scale`.
    """

    codes: np.ndarray
    codebooks: np.ndarray
    encoder: list[np.ndarray]
    scale: float


def encode_table(
    table: np.ndarray,
    cardinality: int,
    code_length: int,
    weights: np.ndarray | None = None,
    *,
    hidden_dim: int | None = None,
    epochs: int = 100,
    batch_size: int = 64,
    learning_rate: float = 3e-3,
    temperature: float = 1.0,
    clip_norm: float = 1e-3,
    refit: bool = True,
    seed: int = 0,
    steps: Callable[[int, str], Iterable[int]] = lambda count, what: range(count),
) -> EncodedTable:
    """Codes, codebooks and encoder of a table, see `compress.CompositionalCodes`.

    It trains, so it cannot run inside a graph.

    Args:
        table: Table of vectors, `(V, d)` float32.
        cardinality: Number of codes `K` of a codebook.
        code_length: Number of codebooks `M`.
        weights: Frequency of each word in the batches, and weight of its error, `(V,)`.
        hidden_dim: Number of units of the encoder's hidden layer. Default: `M K / 2`.
        epochs: Number of passes over the table; the codes with the smallest error are kept.
        batch_size: Number of rows of a step.
        learning_rate: Learning rate of Adam.
        temperature: `tau` of the Gumbel-softmax.
        clip_norm: Largest norm of the gradient, by clipping.
        refit: Whether codebooks are fitted to the codes by least squares at the end.
        seed: Seed of the weights, the order of the rows and the noise.
        steps: Function that returns `range(count)`, perhaps with a progress bar.

    >>> found = encode_table(np.eye(6, 4, dtype="float32"), 2, 3, epochs=2)
    >>> found.codes.shape, [weight.shape for weight in found.encoder]
    ((6, 3), [(4, 3), (3,), (3, 6), (6,)])

    Reference: [Shu & Nakayama, ICLR 2018](https://arxiv.org/abs/1711.01068), sec. 4.
    """
    scale = float(table.std()) or 1.0
    scaled = table / scale
    hidden = hidden_units(cardinality, code_length) if hidden_dim is None else hidden_dim
    trained = _AutoEncoder(
        table.shape[1],
        hidden,
        cardinality,
        code_length,
        batch_size=batch_size,
        learning_rate=learning_rate,
        temperature=temperature,
        clip_norm=clip_norm,
        seed=seed,
    )
    random = np.random.default_rng(seed)
    shares = None if weights is None else weights / weights.sum()
    best, kept = np.inf, None
    for _ in steps(epochs, "compositional codes"):
        order = random.permutation(len(table))
        if shares is not None:
            order = random.choice(len(table), len(table), p=shares)
        trained.epoch(scaled, order)
        codes, codebooks = trained.codes(scaled), trained.codebooks()
        error = additive.error(scaled, codes, codebooks, weights)
        if error < best or kept is None:
            best, kept = error, (codes, codebooks, trained.encoder())
    assert kept is not None, "there is at least one epoch"
    codes, codebooks, encoder = kept
    if refit:
        codebooks = additive.refit(scaled, codes, codebooks, weights, steps=30)
    return EncodedTable(codes, scale * codebooks, encoder, scale)


class _AutoEncoder:
    """The encoder and its codebooks."""

    def __init__(
        self,
        width: int,
        hidden: int,
        cardinality: int,
        code_length: int,
        *,
        batch_size: int,
        learning_rate: float,
        temperature: float,
        clip_norm: float,
        seed: int,
    ) -> None:
        self.cardinality, self.code_length = cardinality, code_length
        self.batch_size, self.temperature = batch_size, temperature
        self.pairs = code_length * cardinality
        random = np.random.default_rng(seed)
        shapes = (
            (width, hidden),
            (hidden,),
            (hidden, self.pairs),
            (self.pairs,),
            (self.pairs, width),
        )
        self.weights = [
            keras.Variable(random.uniform(-0.01, 0.01, shape).astype("float32")) for shape in shapes
        ]
        self.noise = keras.random.SeedGenerator(seed)
        self.optimizer = keras.optimizers.Adam(learning_rate, global_clipnorm=clip_norm)
        self.optimizer.build(self.weights)
        self.run = tf.function(self._steps, autograph=False)

    def epoch(self, table: np.ndarray, order: np.ndarray) -> None:
        """Trains on the rows `order`; the last batch is as large as the others."""
        size = min(self.batch_size, len(order))
        order = np.resize(order, -(-len(order) // size) * size).reshape(-1, size)
        self.run(table, order.astype(np.int32))

    def codes(self, table: np.ndarray) -> np.ndarray:
        """The codes `(V, M)` of all rows."""
        return rows_in_chunks(
            lambda ids: self._codes(tf.gather(table, ids)), len(table), "int32", 1024
        )

    def encoder(self) -> list[np.ndarray]:
        """`A`, `a'`, `B` and `b'`."""
        return [weight.numpy() for weight in self.weights[:-1]]

    def codebooks(self) -> np.ndarray:
        """`(M, K, d)`."""
        shape = self.code_length, self.cardinality, -1
        return self.weights[-1].numpy().reshape(shape)

    def _logits(self, rows: tf.Tensor) -> tf.Tensor:
        a, a_bias, b, b_bias, _ = (weight.value for weight in self.weights)
        return code_logits(rows, (a, b), (a_bias, b_bias), self.cardinality)

    def _codes(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.argmax(self._logits(rows), axis=-1, output_type=tf.int32)

    def _steps(self, table: tf.Tensor, batches: tf.Tensor) -> None:
        def body(step: tf.Tensor) -> list[tf.Tensor]:
            rows = tf.gather(table, batches[step])
            with tf.GradientTape() as tape:
                choice = gumbel_softmax(self._logits(rows), self.temperature, self.noise)
                vectors = tf.matmul(tf.reshape(choice, [-1, self.pairs]), self.weights[-1].value)
                loss = 0.5 * tf.reduce_mean(tf.reduce_sum(tf.square(rows - vectors), axis=-1))
            variables = [weight.value for weight in self.weights]
            self.optimizer.apply(tape.gradient(loss, variables), self.weights)
            return [step + 1]

        tf.while_loop(lambda step: step < tf.shape(batches)[0], body, [0])
