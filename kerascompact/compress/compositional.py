"""Compositional codes of a trained table, by an auto-encoder."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.compress.base import Compressor
from kerascompact.core import checks
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.ops import additive
from kerascompact.ops.chunks import in_chunks
from kerascompact.ops.code_encoder import code_logits, hidden_units
from kerascompact.ops.gumbel import gumbel_softmax


class CompositionalCodes(Compressor):
    """Stores each word as `M` codes of `K` values, found by an auto-encoder of the table.

    `E[i] ~ sum_j W^j[c_i^j]`, `c_i^j = argmax_k a_ijk`,
    `a_i = log(softplus(tanh(E[i] A + a') B + b') + 1e-8)` with a hidden layer of `M K / 2` units.
    Trained on `1/2 ||E[i] - sum_j W^j^T t_ij||^2`, `t_ij` a Gumbel-softmax sample of `a_ij`. The
    codes of the epoch with the smallest error are kept. With counts, words are drawn as often as
    they occur.

    Args:
        cardinality: Values of a code `K`.
        code_length: Codes of a word `M`.
        epochs: Passes over the table. The paper's code: 200.
        batch_size: Rows of a step.
        learning_rate: Of Adam. The paper: 1e-4.
        temperature: Of the Gumbel-softmax, `tau > 0`.
        clip_norm: Norm that the gradient is clipped to.
        refit: Whether codebooks are fitted to the codes by least squares in the end: those of the
            auto-encoder reconstruct soft samples, and only the codes ship.
        seed: Of the weights, the order of the rows and the noise.
        verbose: Whether to show progress.

    Storage: `V M ceil(log2 K) + 32 M K d` bits.
    Raises: ValueError, if an argument is wrong; ImportError, if `refit`, without scikit-learn
        (`pip install 'kerascompact[compress]'`).

    >>> table = np.random.default_rng(0).normal(size=(50, 4))
    >>> form = CompositionalCodes(cardinality=4, code_length=3, epochs=2).fit(table)
    >>> form.code_length, form.cardinality
    (3, 4)

    Reference: [Shu & Nakayama, ICLR 2018](https://arxiv.org/abs/1711.01068), sec. 4, with the sizes
    and the clipping of its code (`epochs=200, learning_rate=1e-4, refit=False` gives the paper's).
    Differs: the table is divided by its standard deviation, so that the rate fits any table, and
    the rate is thirty times the paper's; the codes kept are those with the smallest error of the
    codes themselves, over the whole table, not of the soft samples.
    """

    def __init__(
        self,
        cardinality: int,
        code_length: int,
        *,
        epochs: int = 100,
        batch_size: int = 64,
        learning_rate: float = 3e-3,
        temperature: float = 1.0,
        clip_norm: float = 1e-3,
        refit: bool = True,
        seed: int = 0,
        verbose: bool = False,
    ) -> None:
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.epochs = checks.integer_in("epochs", epochs, 1)
        self.batch_size = checks.integer_in("batch_size", batch_size, 1)
        self.learning_rate = checks.number("learning_rate", learning_rate, above=0)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.clip_norm = checks.number("clip_norm", clip_norm, above=0)
        self.refit = checks.boolean("refit", refit)
        self.seed = checks.integer_in("seed", seed, 0)
        self.verbose = checks.boolean("verbose", verbose)

    def compress(self, table: np.ndarray, counts: np.ndarray | None, **form: Any) -> CodebookForm:
        deviation = float(table.std()) or 1.0
        scaled = table / deviation
        trained = _AutoEncoder(table.shape[1], self)
        random = np.random.default_rng(self.seed)
        shares = None if counts is None else counts / counts.sum()
        best, kept = np.inf, None
        for _ in self.steps(self.epochs, "compositional codes"):
            order = random.permutation(len(table))
            if shares is not None:
                order = random.choice(len(table), len(table), p=shares)
            trained.epoch(scaled, order)
            codes, codebooks = trained.codes(scaled), trained.codebooks()
            error = additive.error(scaled, codes, codebooks, counts)
            if error < best or kept is None:
                best, kept = error, (codes, codebooks)
        assert kept is not None, "there is at least one epoch"
        codes, codebooks = kept
        if self.refit:
            codebooks = additive.refit(scaled, codes, codebooks, counts, steps=30)
        codebooks = deviation * codebooks
        paper = codes.size * code_bits(self.cardinality) + 32 * codebooks.size
        return CodebookForm.from_codes(codes, codebooks, **{"paper_bits": paper, **form})


class _AutoEncoder:
    """The encoder and its codebooks."""

    def __init__(self, width: int, settings: CompositionalCodes) -> None:
        self.settings = settings
        self.pairs = settings.code_length * settings.cardinality
        hidden = hidden_units(settings.cardinality, settings.code_length)
        random = np.random.default_rng(settings.seed)
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
        self.noise = keras.random.SeedGenerator(settings.seed)
        self.optimizer = keras.optimizers.Adam(
            settings.learning_rate, global_clipnorm=settings.clip_norm
        )
        self.optimizer.build(self.weights)
        self.run = tf.function(self._steps)

    def epoch(self, table: np.ndarray, order: np.ndarray) -> None:
        """Trains on the rows `order`; the last batch is as large as the others."""
        size = min(self.settings.batch_size, len(order))
        order = np.resize(order, -(-len(order) // size) * size).reshape(-1, size)
        self.run(table, order.astype(np.int32))

    def codes(self, table: np.ndarray) -> np.ndarray:
        """The codes `(V, M)` of all rows."""
        return in_chunks(lambda ids: self._codes(tf.gather(table, ids)), len(table), "int32", 1024)

    def codebooks(self) -> np.ndarray:
        """`(M, K, d)`."""
        shape = self.settings.code_length, self.settings.cardinality, -1
        return self.weights[-1].numpy().reshape(shape)

    def _logits(self, rows: tf.Tensor) -> tf.Tensor:
        a, a_bias, b, b_bias, _ = (weight.value for weight in self.weights)
        return code_logits(rows, (a, b), (a_bias, b_bias), self.settings.cardinality)

    def _codes(self, rows: tf.Tensor) -> tf.Tensor:
        return tf.argmax(self._logits(rows), axis=-1, output_type=tf.int32)

    def _steps(self, table: tf.Tensor, batches: tf.Tensor) -> None:
        for step in tf.range(tf.shape(batches)[0]):
            rows = tf.gather(table, batches[step])
            with tf.GradientTape() as tape:
                choice = gumbel_softmax(self._logits(rows), self.settings.temperature, self.noise)
                vectors = tf.matmul(tf.reshape(choice, [-1, self.pairs]), self.weights[-1].value)
                loss = 0.5 * tf.reduce_mean(tf.reduce_sum(tf.square(rows - vectors), axis=-1))
            variables = [weight.value for weight in self.weights]
            self.optimizer.apply(tape.gradient(loss, variables), self.weights)
