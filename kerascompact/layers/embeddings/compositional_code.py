"""Compositional code embeddings: a word is M choices of K, its vector the sum of rows."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.code_autoencoder import encode_table
from kerascompact.ops.code_encoder import code_logits, hidden_units
from kerascompact.ops.codes import relaxed_one_hot
from kerascompact.ops.gumbel import gumbel_noise, gumbel_softmax
from kerascompact.ops.unique import row_numbers, unique_ids
from kerascompact.ops.vocabulary_chunks import rows_in_chunks


@register
class CompositionalCodeEmbedding(CompactEmbedding):
    """Adds one row of each of `M` codebooks, chosen by an encoder from a trained word vector.

    `E[i] = sum_j W^j[c_i^j]`, `c_i^j = argmax_k a_ijk`,
    `a_i = log(softplus(tanh(T[i] A + a') B + b') + 1e-8)`, with a table `T: (V, t)`, a hidden layer
    of `M K / 2` units and codebooks `W: (M, K, d)`. In training the choice is
    `softmax((a_ij + s g_ij) / tau)`, with Gumbel noise `g_ij` drawn once for each different id of
    the batch. By default there is none, `s = 0`: sums of rows drawn at random train the rest of
    the model on vectors that no word ships with. The task loss trains codebooks, encoder and table,
    and only codes and codebooks ship. A frozen layer (`trainable = False`) is called in training as
    in inference.

    Advice, on dev of CLINC150 (a mean of vectors of width 24, K = 16, M = 8, 20 epochs of
    `LazyAdam(0.01)` with a falling rate, three seeds): noise of 1 and a temperature of 1, as in the
    papers, have 0.697, no noise 0.757, no noise at 0.3 0.802, `KDCodeEmbedding` 0.876.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        cardinality: Number of rows `K` of a codebook, 2 to 65,536.
        code_length: Number of codebooks `M`.
        table: `None` trains `T` with the rest. `(V, t)` floats fix it, such as the weights of a
            trained `Embedding`; "fixed": they are loaded later.
        table_dim: Width `t` of `T`. Default: `d`, or that of the given table.
        hidden_dim: Number of units of the hidden layer. Default: `M K / 2`.
        temperature: Temperature `tau > 0`, which sets how soft a sample is. With `straight_through`
            it changes only the gradient. The papers have 1. A weight, so that
            `training.TemperatureAnnealing` can change it.
        straight_through: Whether the forward pass uses the one-hot sample instead of the soft one,
            so that training sees rows that ship; the gradient is that of the soft sample.
        noise_scale: Scale `s >= 0` of the noise; 0 takes the largest logit, the papers have 1. A
            weight, so that `training.NoiseAnnealing` can change it.
        inference: "hard" (what ships) or "soft" (soft samples, to report the gap).
        encoder_initializer: Initializer of `A` and `B`. Default: Glorot's uniform.
        seed: Seed of the Gumbel noise.
        **kwargs: `embeddings_initializer` and `embeddings_regularizer` (of the codebooks and of a
            trained table), `weights` (the auto-encoder of `compress.CompositionalCodes`, trained
            when the layer is made), `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `V M ceil(log2 K) + 32 M K d` bits. Training holds `32 V t` bits of table.
    Raises: ValueError, if a size is out of range, or the table does not have `V` rows.
    Example:
    >>> layer = CompositionalCodeEmbedding(10_000, 16, cardinality=8, code_length=4)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])
    >>> sum(array.total_bits for array in layer.to_form().storage())  # V 4 * 3 + 32 * 4 * 8 * 16
    136384

    Reference: [Shu & Nakayama, ICLR 2018](https://arxiv.org/abs/1711.01068), sec. 4, trained with
    the task as in [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), sec. 5.
    Differs: `straight_through=False, noise_scale=1, temperature=1` is what their code trains with.
    Biases start in U(-0.01, 0.01).
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, cardinality=4, code_length=3)
    UNCONSTRAINED = "its vectors are sums of rows of several codebooks"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        code_length: int,
        *,
        table: Any = None,
        table_dim: int | None = None,
        hidden_dim: int | None = None,
        temperature: float = 0.3,
        straight_through: bool = True,
        noise_scale: float = 0.0,
        inference: str = "hard",
        encoder_initializer: Any = "glorot_uniform",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.code_length = checks.integer_in("code_length", code_length, 1)
        self.fixed = table is not None
        self.given = None if table is None or isinstance(table, str) else self._checked(table)
        if isinstance(table, str):
            checks.choice("table", table, ("fixed",))
        if table_dim is None:
            table_dim = self.output_dim if self.given is None else self.given.shape[1]
        self.table_dim = checks.integer_in("table_dim", table_dim, 1)
        if self.given is not None and self.given.shape[1] != self.table_dim:
            checks.fail("table_dim", f"the table's width {self.given.shape[1]}", table_dim)
        if hidden_dim is None:
            hidden_dim = hidden_units(self.cardinality, self.code_length)
        self.hidden_dim = checks.integer_in("hidden_dim", hidden_dim, 1)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.straight_through = checks.boolean("straight_through", straight_through)
        self.noise_scale = checks.number("noise_scale", noise_scale, at_least=0)
        self.inference = checks.choice("inference", inference, ("hard", "soft"))
        self.encoder_initializer = keras.initializers.get(encoder_initializer)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.noise = keras.random.SeedGenerator(seed)
        # Table, encoder and codebooks; found here, since `build` may be inside a graph.
        self.found: list[np.ndarray] = []
        if self.start_table is not None:
            self.found = self._encoded(self.take_start(), table)

    def _encoded(self, start: Any, table: Any) -> list[np.ndarray]:
        """The weights under which the layer gives the codes of an auto-encoder of a table."""
        if table is not None:
            checks.fail("table", "None with `weights`, which replace it", table)
        if self.table_dim != self.output_dim:
            expected = f"output_dim={self.output_dim} with `weights`, which are the table then"
            checks.fail("table_dim", expected, self.table_dim)
        sizes = self.cardinality, self.code_length
        found = encode_table(start, *sizes, hidden_dim=self.hidden_dim, seed=self.seed or 0)
        return [start / found.scale, *found.encoder, found.codebooks]

    def _checked(self, table: Any) -> np.ndarray:
        known = np.asarray(table, np.float32)
        if known.ndim != 2 or known.shape[0] != self.input_dim:
            raise ValueError(
                f"`table` must be a matrix of input_dim={self.input_dim} rows. "
                f"Received: an array of shape {known.shape}."
            )
        return checks.finite("table", known)

    def build(self, input_shape: Any = None) -> None:
        weights: list[Any] = [*self.found] or [None] * 6
        start, *encoder, codebooks = weights
        self.found = []
        if self.fixed:
            fixed = self.given  # None where the weights are loaded afterwards
            self.table = self.add_weight(
                shape=(self.input_dim, self.table_dim),
                initializer="zeros" if fixed is None else given(fixed),
                dtype="float32",
                trainable=False,
                autocast=False,
                name="table",
            )
            self.given = None  # one copy is enough
        else:
            self.table = self.add_vectors("table", (self.input_dim, self.table_dim), start)
        shape = (self.code_length, self.cardinality, self.output_dim)
        self.codebooks = self.add_vectors("codebooks", shape, codebooks)
        widths = (self.table_dim, self.hidden_dim, self.code_length * self.cardinality)
        self.kernels, self.biases = [], []
        for name, before, after in zip(("hidden", "logits"), widths, widths[1:], strict=False):
            kernel: Any = self.encoder_initializer.clone()
            bias: Any = keras.initializers.RandomUniform(-0.01, 0.01)
            if start is not None:
                kernel, bias = given(encoder.pop(0)), given(encoder.pop(0))
            self.kernels.append(self._float(f"{name}_kernel", (before, after), kernel))
            self.biases.append(self._float(f"{name}_bias", (after,), bias))
        self.current_temperature = self.add_annealed("temperature", self.temperature)
        self.current_noise_scale = self.add_annealed("noise_scale", self.noise_scale)

    def _float(self, name: str, shape: tuple[int, ...], start: Any) -> keras.Variable:
        return self.add_weight(
            shape=shape,
            initializer=start,
            dtype="float32",
            autocast=False,
            name=name,
        )

    def logits_of(self, ids: tf.Tensor) -> tf.Tensor:
        """Code logits `a` `(n, M, K)` of ids `(n,)`."""
        rows = tf.gather(self.table.value, ids)
        kernels = self.kernels[0].value, self.kernels[1].value
        biases = self.biases[0].value, self.biases[1].value
        return code_logits(rows, kernels, biases, self.cardinality)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        training = training and self.trainable  # frozen: the vectors that ship
        unique, inverse = unique_ids(ids, self.input_dim)
        logits = self.logits_of(unique)
        pairs = self.code_length * self.cardinality
        codebooks = tf.reshape(self.codebooks.value, [pairs, self.output_dim])
        if not training and self.inference == "hard":
            codes = tf.argmax(logits, axis=-1, output_type=tf.int32)
            places = codes + self.cardinality * tf.range(self.code_length)
            vectors = tf.gather(codebooks, places[:, 0])
            for position in range(1, self.code_length):  # as the form does, without (n, M, d)
                vectors += tf.gather(codebooks, places[:, position])
        else:
            one_hot = self.straight_through and bool(training)
            most = tf.minimum(tf.size(ids), self.input_dim)  # ids that can differ, for XLA

            def drawn() -> tf.Tensor:
                noise = gumbel_noise((most, self.code_length, self.cardinality), self.noise)
                return tf.gather(noise, row_numbers(unique, inverse))

            scale = self.current_noise_scale.value
            noise = tf.cond(scale > 0, drawn, lambda: tf.zeros_like(logits))
            temperature = self.current_temperature.value
            choice = gumbel_softmax(logits, temperature, self.noise, one_hot, noise, scale)
            vectors = tf.matmul(tf.reshape(choice, [-1, pairs]), codebooks)
        return tf.gather(vectors, inverse)

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        one_hot, _ = relaxed_one_hot(self.logits_of(ids), self.current_temperature.value)
        pairs = self.code_length * self.cardinality
        codebooks = tf.reshape(self.codebooks.value, [pairs, self.output_dim])
        return tf.matmul(tf.reshape(one_hot, [-1, pairs]), codebooks)

    def codes(self) -> np.ndarray:
        """The code of every word: `argmax_k a_ijk`, `(V, M)` int32 in `[0, K)`."""
        self.check_built()
        for weight in (self.table, *self.kernels, *self.biases):
            checks.finite(weight.name, weight.numpy())
        return rows_in_chunks(
            lambda ids: tf.argmax(self.logits_of(ids), axis=-1, output_type=tf.int32),
            self.input_dim,
            "int32",
        )

    def to_form(self) -> CodebookForm:
        codes = self.codes()
        codebooks = checks.finite("codebooks", self.codebooks.numpy())
        return CodebookForm.from_codes(codes, codebooks, **self.form_config())

    def paper_bits(self) -> int:
        codes = self.input_dim * self.code_length * code_bits(self.cardinality)
        return codes + 32 * self.code_length * self.cardinality * self.output_dim

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cardinality": self.cardinality,
            "code_length": self.code_length,
            "table": "fixed" if self.fixed else None,
            "table_dim": self.table_dim,
            "hidden_dim": self.hidden_dim,
            "temperature": self.temperature,
            "straight_through": self.straight_through,
            "noise_scale": self.noise_scale,
            "inference": self.inference,
            "encoder_initializer": keras.initializers.serialize(self.encoder_initializer),
            "seed": self.seed,
        }
