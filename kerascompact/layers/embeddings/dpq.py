"""Differentiable product quantization (DPQ): queries that choose rows of small codebooks."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.dpq_start import Start, start_of
from kerascompact.layers.row_normalization import RowBatchNormalization
from kerascompact.ops.codes import chosen_rows, largest
from kerascompact.ops.straight_through import straight_through_estimate
from kerascompact.ops.unique import occurrences, token_mean, unique_ids
from kerascompact.ops.vocabulary_chunks import rows_in_chunks


@register
class DPQEmbedding(CompactEmbedding):
    """Looks up `D` pieces of a vector, each the row of a codebook that a query has chosen.

    `E[i] = [W^1[c_i^1]; ...; W^D[c_i^D]]`, `c_i^j = argmax_k a_ijk`. A query row `Q[i]`, cut into
    `D` pieces `q_ij` of width `d / D`, is compared with `K` keys for each piece:

    - "sx": `a_ijk = q_ij . key_jk`. The gradient is that of `softmax(a_ij / tau)` in place of the
      one-hot choice; the values `W` are weights apart from the keys.
    - "vq": `a_ijk = -||q_ij - W^j[k]||^2`. The gradient of the vector passes on to the query;
      `mean((W^j[c] - sg(q_ij))^2) + beta mean((q_ij - sg(W^j[c]))^2)` joins the loss in training
      and moves the codebooks.

    With batch normalization, `a` is normalized for each key over the batch's tokens, without
    learned center and scale, so that no key is excluded by its norm or its direction alone.
    Training holds `V d` numbers, where learned KD codes hold `V D K`.

    Advice, from 15 epochs of CLINC150 (150 intents; 1,900 words, the mean of their vectors, d = 24,
    K = 16, D = 8, `LazyAdam(0.03)`; test accuracy, three seeds): a full table gives 0.897, "vq"
    0.868, "sx" 0.842, and 0.792 with `shared_norm`. Take "vq" where pieces are narrow, and let it
    start near 0: a word that is met rarely keeps a short vector (from U(-1, 1) 0.857).

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        cardinality: Number of rows `K` of a codebook, 2 to 65,536.
        code_length: Number of pieces `D` of a vector, a divisor of `d`.
        method: Choice of a row: "sx" by dot product, "vq" by distance.
        batch_norm: Whether `a` is normalized. Default: with "sx" only.
        shared_norm: Whether the mean and variance of `a` are taken over all pieces together, one
            for each `k`, as in the authors' code and in files from before this option. With
            "sx" few keys are then used: a piece whose queries point one way chooses the keys that
            point the same way.
        shared_codebook: Whether one codebook (and one set of keys) serves all pieces.
        temperature: Temperature `tau` of "sx", which changes the gradient, not the codes. A weight,
            so that `training.TemperatureAnnealing` can change it.
        commitment_weight: Weight `beta` of the second term of "vq".
        **kwargs: `embeddings_initializer` and `embeddings_regularizer` (of queries, keys and
            values), `mask_zero` (padding is then left out of batch normalization and of the loss of
            "vq"), `weights` and those of `keras.layers.Layer`. From a table a layer starts with its
            product codes; where "sx" has many keys in narrow pieces, batch normalization changes
            some from the first step on ("vq" does not).

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `V D ceil(log2 K) + 32 K d` bits, or `V D ceil(log2 K) + 32 K d / D` with a shared
        codebook. Training holds `32 V d` bits of queries.
    Raises: ValueError, if `D` does not divide `d`, or another argument is wrong.
    Example:
    >>> layer = DPQEmbedding(10_000, 64, cardinality=32, code_length=16)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])
    >>> sum(array.total_bits for array in layer.to_form().storage())  # V 16 * 5 + 32 * 32 * 64
    865536

    Reference: [Chen, Li & Sun, ICML 2020](https://arxiv.org/abs/1908.09756), sec. 2.
    Differs: batch normalization, which their code applies to both methods, is off for "vq", so
    that a code is the nearest row; `beta` is 0 there.
    """

    EXAMPLE = dict(input_dim=20, output_dim=6, cardinality=4, code_length=3)
    UNCONSTRAINED = "the rows of its codebooks are pieces of vectors"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        cardinality: int,
        code_length: int,
        *,
        method: str = "sx",
        batch_norm: bool | None = None,
        shared_norm: bool = False,
        shared_codebook: bool = False,
        temperature: float = 1.0,
        commitment_weight: float = 1.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        self.cardinality = checks.integer_in("cardinality", cardinality, 2, 2**16)
        self.code_length = checks.integer_in("code_length", code_length, 1, self.output_dim)
        if self.output_dim % self.code_length:
            checks.fail("code_length", f"a divisor of output_dim={self.output_dim}", code_length)
        self.width = self.output_dim // self.code_length
        self.method = checks.choice("method", method, ("sx", "vq"))
        self.batch_norm = method == "sx" if batch_norm is None else batch_norm
        checks.boolean("batch_norm", self.batch_norm)
        self.shared_codebook = checks.boolean("shared_codebook", shared_codebook)
        self.shared_norm = checks.boolean("shared_norm", shared_norm)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.commitment_weight = checks.number("commitment_weight", commitment_weight, at_least=0)
        self.norm = None
        if self.batch_norm:
            self.norm = RowBatchNormalization(
                center=False,
                scale=False,
                by_piece=not self.shared_norm,
                trainable=self.trainable,
                name="norm",
            )

    def build(self, input_shape: Any = None) -> None:
        start, found = self.take_start(), Start(None, None, None)
        if start is not None:
            sizes = self.code_length, self.cardinality
            found = start_of(start, *sizes, self.method == "sx", self.shared_codebook)
        rows = (self.input_dim, self.output_dim)
        self.queries = self.add_vectors("queries", rows, found.queries)
        one = (self.cardinality, self.width)
        shape = one if self.shared_codebook else (self.code_length, *one)
        self.codebooks = self.keys = self.add_vectors("codebooks", shape, found.codebooks)
        if self.method == "sx":
            self.keys = self.add_vectors("keys", shape, found.keys)
            self.current_temperature = self.add_annealed("temperature", self.temperature)
        if self.norm is not None:
            self.norm.build((self.code_length, None, self.cardinality))

    def queries_of(self, ids: tf.Tensor) -> tf.Tensor:
        """Query pieces `(D, n, d / D)` of ids `(n,)`: a matrix product for each codebook."""
        rows = tf.gather(self.queries.value, ids)
        return tf.transpose(tf.reshape(rows, [-1, self.code_length, self.width]), [1, 0, 2])

    def logits_of(
        self, queries: tf.Tensor, counts: Any = None, training: bool = False
    ) -> tf.Tensor:
        """Scores of the keys, `a` `(D, n, K)`, with batch normalization if it is on."""
        keys = _stacked(self.keys)
        logits = tf.matmul(queries, keys, transpose_b=True)
        if self.method == "vq":
            own = tf.reduce_sum(tf.square(queries), axis=-1, keepdims=True)
            of_keys = tf.expand_dims(tf.reduce_sum(tf.square(keys), axis=-1), 1)
            logits = 2.0 * logits - own - of_keys
        if self.norm is not None:
            logits = self.norm(logits, counts, training=training, axis=1)
        return logits

    def rows_of(self, codes: tf.Tensor) -> tf.Tensor:
        """Codebook rows `(D, n, d / D)` of codes `(D, n)`."""
        codebooks = _stacked(self.codebooks)
        first = self.cardinality * tf.range(codebooks.shape[0])
        return tf.gather(tf.reshape(codebooks, [-1, self.width]), codes + first[:, None])

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        unique, inverse = unique_ids(ids, self.input_dim)
        queries = self.queries_of(unique)
        if not training:
            return tf.gather(self._vectors(self.rows_of(largest(self.logits_of(queries)))), inverse)
        counts = occurrences(unique, inverse, self.mask_zero)
        rows = self._rows(queries, self.logits_of(queries, counts, training=True), counts)
        return tf.gather(self._vectors(rows), inverse)

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        queries = self.queries_of(ids)
        # As in training, but "vq" codebooks only follow the queries by the regularizer of `lookup`.
        return self._vectors(self._rows(queries, self.logits_of(queries)))

    def _rows(self, queries: tf.Tensor, logits: tf.Tensor, counts: Any = None) -> tf.Tensor:
        """The chosen rows `(D, n, d / D)` with the gradient of training."""
        if self.method == "sx":
            return chosen_rows(logits, _stacked(self.codebooks), self.current_temperature.value)
        nearest = self.rows_of(largest(logits))
        if counts is not None and self.trainable:
            self.add_loss(self._regularizer(queries, nearest, counts))
        return straight_through_estimate(nearest, queries)

    def _vectors(self, rows: tf.Tensor) -> tf.Tensor:
        """Rows `(D, n, d / D)` side by side, `(n, d)`."""
        return tf.reshape(tf.transpose(rows, [1, 0, 2]), [-1, self.output_dim])

    def _regularizer(self, queries: tf.Tensor, rows: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
        """Draws codebook rows to their queries, and queries to their rows; a mean over tokens."""
        distance = tf.square(rows - tf.stop_gradient(queries))
        distance += self.commitment_weight * tf.square(queries - tf.stop_gradient(rows))
        return token_mean(tf.reduce_mean(distance, axis=[0, 2]), counts)

    def codes(self) -> np.ndarray:
        """The code of every word, `(V, D)` int32 in `[0, K)`."""
        self.check_built()
        for weight in (self.keys, *([] if self.norm is None else self.norm.weights)):
            checks.finite(weight.name, weight.numpy())

        def some(ids: tf.Tensor) -> tf.Tensor:
            queries = self.queries_of(ids)
            checks.finite("queries", queries.numpy())
            return tf.transpose(largest(self.logits_of(queries)))

        return rows_in_chunks(some, self.input_dim, "int32")

    def to_form(self) -> CodebookForm:
        codes = self.codes()
        codebooks = checks.finite("codebooks", self.codebooks.numpy())
        config = {**self.form_config(), "combine": "concat"}
        return CodebookForm.from_codes(codes, codebooks, **config)

    def paper_bits(self) -> int:
        codes = self.input_dim * self.code_length * code_bits(self.cardinality)
        rows = self.cardinality * (1 if self.shared_codebook else self.code_length)
        return codes + 32 * rows * self.width

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "cardinality": self.cardinality,
            "code_length": self.code_length,
            "method": self.method,
            "batch_norm": self.batch_norm,
            "shared_norm": self.shared_norm,
            "shared_codebook": self.shared_codebook,
            "temperature": self.temperature,
            "commitment_weight": self.commitment_weight,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "DPQEmbedding":
        return cls(**{"shared_norm": True, **config})  # files from before the option


def _stacked(books: keras.Variable) -> tf.Tensor:
    """Codebooks or keys `(D, K, d / D)`; shared ones `(1, K, d / D)`."""
    value = tf.convert_to_tensor(books.value)
    return value if len(value.shape) == 3 else tf.expand_dims(value, 0)
