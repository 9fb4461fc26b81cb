"""Hash embeddings: words share the vectors of a few buckets, and learn how to weight them."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.base import Form
from kerascompact.forms.composed import SplitForm, rows_of_the_batch, split_ids
from kerascompact.forms.dense import DenseForm
from kerascompact.forms.hashed import HashedForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given
from kerascompact.ops.hashing import hash_ids
from kerascompact.ops.shared_buckets import shared_buckets


@register
class HashEmbedding(CompactEmbedding):
    """Adds the vectors of the `k` buckets that a word hashes to, with weights of the word.

    `E[i] = sum_j p_ij B[h_j(i)]`, `B: (b, d)`, `p: (V, k)`, both trained; two words that share a
    bucket differ in the others and in their weights. With `importance=False` there is no `p`:
    `num_hashes=1` is then feature hashing. The `num_frequent` most frequent words have
    vectors of their own; the others are hashed.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d`.
        num_buckets: Number of buckets `b`.
        num_hashes: Number of hash functions `k`.
        importance: Whether words have weights.
        num_frequent: Number of words with a vector of their own, below `V`; above 0, ids must be
            ordered by frequency.
        num_reserved: Number of leading ids (padding, unknown) that are hashed regardless; 2 for a
            `Vocabulary`.
        seed: Seed of the hash functions.
        importance_initializer: Initializer of `p`. Default: normal around `1 / sqrt(k)`, so that
            the entries of `E` start with the variance of those of `B`.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer`, `embeddings_constraint` (with
            one hash and no weights of words), `weights` (buckets and weights of words by least
            squares), `mask_zero` and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `32 (b d + f d)` bits, and `32 (V - f) k` for the weights, `f` the frequent words: the
        paper's count. The hash functions are arithmetic on the id.
    Raises: ValueError, for a wrong argument.
    Example:
    >>> layer = HashEmbedding(10_000, 64, num_buckets=500)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 64])
    >>> sum(array.total_bits for array in layer.to_form().storage())
    1664000

    Reference: [Svenstrup et al., NeurIPS 2017](https://arxiv.org/abs/1709.03933), sec. 2; frequent
    words and one hash for the others: "Hash Embed" of
    [Liang et al., ICLR 2021](https://arxiv.org/abs/2003.08197), E.3.
    Differs: weights are not appended to the vector, and have no hash function of their own.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, num_buckets=7, num_frequent=5)

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_buckets: int,
        num_hashes: int = 2,
        *,
        importance: bool = True,
        num_frequent: int = 0,
        num_reserved: int = 0,
        seed: int = 0,
        importance_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        if self.embeddings_constraint is not None and (num_hashes != 1 or importance):
            why = "a word's vector is a bucket's only if num_hashes=1 and importance=False"
            checks.fail("embeddings_constraint", f"None: {why}", self.embeddings_constraint)
        self.num_buckets = checks.integer_in("num_buckets", num_buckets, 1, 2**31 - 1)
        self.num_hashes = checks.integer_in("num_hashes", num_hashes, 1)
        self.importance = checks.boolean("importance", importance)
        most = self.input_dim - 1
        self.num_frequent = checks.integer_in("num_frequent", num_frequent, 0, most)
        self.num_hashed = self.input_dim - self.num_frequent
        self.num_reserved = checks.integer_in("num_reserved", num_reserved, 0, self.num_hashed)
        self.seed = checks.integer_in("seed", seed, 0)
        if importance_initializer is None:
            mean = self.num_hashes**-0.5
            importance_initializer = keras.initializers.RandomNormal(mean, mean / 10)
        self.importance_initializer = keras.initializers.get(importance_initializer)

    def build(self, input_shape: Any = None) -> None:
        start, own, buckets = self.take_start(), None, None
        draw: Any = self.importance_initializer.clone()
        if start is not None:
            frequent = self.num_reserved + np.arange(self.num_frequent)
            own, rest = start[frequent], np.delete(start, frequent, axis=0)
            sizes = self.num_buckets, self.importance, self.seed
            buckets, weights = shared_buckets(rest, self._places(), *sizes)
            draw = given(weights)
        self.buckets = self.add_vectors("buckets", (self.num_buckets, self.output_dim), buckets)
        if self.importance:
            self.weights_of_ids = self.add_weight(
                shape=(self.num_hashed, self.num_hashes),
                initializer=draw,
                dtype="float32",
                autocast=False,
                name="importance",
            )
        if self.num_frequent:
            shape = (self.num_frequent, self.output_dim)
            self.frequent = self.add_vectors("frequent", shape, own)

    def _places(self) -> np.ndarray:
        """The buckets of all words that are hashed, `(V - f, k)`."""
        with tf.init_scope():  # the first batch may build the layer inside a graph
            ids = tf.range(self.num_hashed)
            seeds = [self.seed + j for j in range(self.num_hashes)]
            found = [hash_ids(ids, seed, self.num_buckets).numpy() for seed in seeds]
        return np.stack(found, axis=1)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        if not self.num_frequent:
            return self._hashed(ids)
        is_frequent, own, hashed = split_ids(ids, self.num_frequent, self.num_reserved)
        own = rows_of_the_batch(own, is_frequent)
        hashed = rows_of_the_batch(hashed, tf.logical_not(is_frequent))
        rows = tf.gather(self.frequent.value, own)
        return tf.where(tf.expand_dims(is_frequent, -1), rows, self._hashed(hashed))

    def _hashed(self, ids: tf.Tensor) -> tf.Tensor:
        vectors = tf.zeros((), tf.float32)
        weights = tf.gather(self.weights_of_ids.value, ids) if self.importance else None
        for j in range(self.num_hashes):
            bucket = hash_ids(ids, self.seed + j, self.num_buckets)
            if weights is None:  # else the gather of weights reports ids out of range
                known = tf.logical_and(ids >= 0, ids < self.num_hashed)
                bucket = tf.where(known, bucket, self.num_buckets)
            rows = tf.gather(self.buckets.value, bucket)
            vectors += rows if weights is None else rows * weights[..., j : j + 1]
        return vectors

    def to_form(self) -> Form:
        self.check_built()
        arrays = {"buckets": checks.finite("buckets", self.buckets.numpy())}
        if self.importance:
            found = checks.finite("importance", self.weights_of_ids.numpy())
            arrays["weights_of_ids"] = found
        sizes = dict(num_buckets=self.num_buckets, num_hashes=self.num_hashes, seed=self.seed)
        sizes |= dict(input_dim=self.num_hashed, output_dim=self.output_dim)
        config = self.form_config()
        outer = {} if self.num_frequent else config
        hashed = HashedForm.from_arrays(arrays, importance=self.importance, **sizes, **outer)
        if not self.num_frequent:
            return hashed
        own = DenseForm.from_arrays(
            {"table": checks.finite("frequent", self.frequent.numpy())},
            input_dim=self.num_frequent,
            output_dim=self.output_dim,
            name="frequent",
        )
        parts: list[Form] = [own, hashed]
        form = SplitForm(
            self.input_dim, self.output_dim, parts, num_reserved=self.num_reserved, **config
        )
        form.build()
        return form

    def paper_bits(self) -> int:
        weights = self.num_hashed * self.num_hashes if self.importance else 0
        return 32 * (weights + (self.num_buckets + self.num_frequent) * self.output_dim)

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_buckets": self.num_buckets,
            "num_hashes": self.num_hashes,
            "importance": self.importance,
            "num_frequent": self.num_frequent,
            "num_reserved": self.num_reserved,
            "seed": self.seed,
            "importance_initializer": keras.initializers.serialize(self.importance_initializer),
        }
