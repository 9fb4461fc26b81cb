"""Cluster embeddings (CE): words share the vectors of a few learned clusters."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.embedding import reshape_as
from kerascompact.core.registration import register
from kerascompact.core.storage import code_bits
from kerascompact.forms.codebook import CodebookForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.starts import given, logits_for
from kerascompact.ops.codes import chosen_rows, relaxed_one_hot
from kerascompact.ops.gumbel import gumbel_noise, gumbel_softmax
from kerascompact.ops.kmeans import kmeans
from kerascompact.ops.random_bits import hashed_bits


@register
class ClusterEmbedding(CompactEmbedding):
    """Looks up the vector of the cluster that a word belongs to; clusters are learned.

    Training: `e_i = W^T t_i`, `t_i = softmax((a_i + s g_i) / tau)`, with Gumbel noise `g_i` drawn
    anew for each occurrence of the word. Inference: `e_i = W[argmax_j a_ij]`. `a: (V, k)` are the
    assignment logits and `W: (k, d)` the cluster vectors; the task loss trains both. A step reads
    the logits' rows of the ids in the batch and nothing else of the vocabulary; train with
    `kerascompact.optimizers.LazyAdam`, which also writes only those rows. A frozen layer
    (`trainable = False`) is called in training as in inference.

    The logits are held divided by `logit_scale`. Adam moves an entry by about its learning rate at
    each step that sees the word, so at the usual 1e-3 a word needs thousands of occurrences before
    one of 50 clusters stands out; the scale reduces that to tens. Aim at a scale times learning
    rate of 0.03 to 0.1: below, words stay near their random start; above, they lock on the first
    cluster they try.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d` (the paper's `m`).
        num_clusters: Number of clusters `k`, `2 <= k <= V`.
        temperature: Temperature `tau > 0`, which sets how soft a sample is. With `straight_through`
            it changes only the gradient. A weight, so that `training.TemperatureAnnealing` can
            change it.
        straight_through: Whether the forward pass uses the one-hot sample instead of the soft one,
            so that training sees the vectors that ship; the gradient is that of the soft sample.
        noise_scale: Scale `s >= 0` of the noise; 0 takes the largest logit. A weight, so that
            `training.NoiseAnnealing` can change it.
        inference: "hard" (what ships) or "soft" (soft samples, as the paper's code tests).
        logit_scale: Number above 0 that the stored logits are multiplied with to give `a`.
        logits_initializer: Initializer of the logits `a`. Default: U(0, 1), as in the paper's code.
        seed: Seed of the Gumbel noise.
        **kwargs: `embeddings_initializer`, `embeddings_regularizer`, `embeddings_constraint`,
            `weights` (clusters by k-means, which nine of ten samples take at first), `mask_zero`
            and those of `keras.layers.Layer`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `V ceil(log2 k) + 32 k d` bits once frozen, the paper's formula; training holds
        `32 k (V + d)` bits.
    Raises: ValueError, if `k` is not in `[2, V]` or another argument is wrong.
    Example:
    >>> layer = ClusterEmbedding(10_000, 16, num_clusters=50)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])
    >>> sum(array.total_bits for array in layer.to_form().storage())
    85600

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), sec. 3 "Cluster
    Embeddings" and appendix A.
    Differs: the paper's code tests with soft samples; here inference is the hard assignment that
    its text describes. The paper's forward pass is soft, and neither its logits nor its noise have
    a scale; `straight_through=False, logit_scale=1` gives both.
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, num_clusters=5)

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_clusters: int,
        *,
        temperature: float = 0.9,
        straight_through: bool = True,
        noise_scale: float = 1.0,
        inference: str = "hard",
        logit_scale: float = 30.0,
        logits_initializer: Any = None,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(input_dim, output_dim, **kwargs)
        limit = min(checks.integer_in("input_dim", self.input_dim, 2), 2**16)
        self.num_clusters = checks.integer_in("num_clusters", num_clusters, 2, limit)
        self.temperature = checks.number("temperature", temperature, above=0)
        self.straight_through = checks.boolean("straight_through", straight_through)
        self.noise_scale = checks.number("noise_scale", noise_scale, at_least=0)
        self.inference = checks.choice("inference", inference, ("hard", "soft"))
        self.logit_scale = checks.number("logit_scale", logit_scale, above=0)
        if logits_initializer is None:
            logits_initializer = keras.initializers.RandomUniform(0.0, 1.0)
        self.logits_initializer = keras.initializers.get(logits_initializer)
        self.seed = None if seed is None else checks.integer_in("seed", seed, 0)
        self.noise = keras.random.SeedGenerator(seed)

    def build(self, input_shape: Any = None) -> None:
        draw, start, codebook = self.logits_initializer.clone(), self.take_start(), None
        if start is not None:
            codes, codebook = kmeans(start, self.num_clusters, seed=self.seed or 0)
            draw = given((self.noise_scale or 1.0) * logits_for(codes, self.num_clusters))
        self.logits = self.add_weight(
            shape=(self.input_dim, self.num_clusters),
            initializer=lambda *args, **kwargs: draw(*args, **kwargs) / self.logit_scale,
            dtype="float32",
            autocast=False,
            name="logits",
        )
        shape = (self.num_clusters, self.output_dim)
        self.codebook = self.add_vectors("codebook", shape, codebook)
        self.current_temperature = self.add_annealed("temperature", self.temperature)
        self.current_noise_scale = self.add_annealed("noise_scale", self.noise_scale)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        training = training and self.trainable  # frozen: the vectors that ship
        logits = tf.gather(self.logits.value, ids)  # (..., k): the rows of the batch only
        codebook = self.codebook.value
        if not training and self.inference == "hard":
            return tf.gather(codebook, tf.argmax(logits, axis=-1, output_type=tf.int32))
        temperature, scale = self.current_temperature.value, self.current_noise_scale.value
        if not (self.straight_through and training):
            logits = self.logit_scale * logits
            choice = gumbel_softmax(logits, temperature, self.noise, noise_scale=scale)
            rows = tf.matmul(tf.reshape(choice, [-1, self.num_clusters]), codebook)
            return reshape_as(rows, ids, self.output_dim)
        noise = gumbel_noise(tf.shape(logits), self.noise, hashed_bits)
        scores = tf.reshape(self.logit_scale * logits + scale * noise, [1, -1, self.num_clusters])
        rows = chosen_rows(scores, tf.expand_dims(codebook, 0), temperature)
        return reshape_as(rows, ids, self.output_dim)

    def word_logits(self, hidden: tf.Tensor) -> tf.Tensor:
        if self.num_clusters >= self.output_dim:
            return super().word_logits(hidden)
        # Products with the k clusters, then with the words' memberships: k numbers each, not d.
        flat = tf.reshape(hidden, [-1, self.output_dim])
        scores = tf.matmul(flat, self.codebook.value, transpose_b=True)
        scores = reshape_as(scores, hidden[..., 0], self.num_clusters)
        return self.logits_by_rows(scores, self.memberships)

    def memberships(self, ids: tf.Tensor) -> tf.Tensor:
        """`t_i` without noise, one-hot, with the gradient of the soft one: `(m, k)`."""
        logits = self.logit_scale * tf.gather(self.logits.value, ids)
        return relaxed_one_hot(logits, self.current_temperature.value)[0]

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        return tf.matmul(self.memberships(ids), self.codebook.value)

    def assignments(self) -> np.ndarray:
        """The cluster of every word: `argmax_j a_ij`, `(V,)` int64 in `[0, k)`."""
        self.check_built()
        return np.argmax(checks.finite("logits", self.logits.numpy()), axis=-1)

    def to_form(self) -> CodebookForm:
        codes = self.assignments()
        return CodebookForm.from_codes(codes, self.codebook.numpy(), **self.form_config())

    def paper_bits(self) -> int:
        pointers = self.input_dim * code_bits(self.num_clusters)
        return pointers + 32 * self.num_clusters * self.output_dim

    def cluster_config(self) -> dict[str, Any]:
        """The arguments that methods built on clusters share with this one."""
        return {
            "num_clusters": self.num_clusters,
            "temperature": self.temperature,
            "straight_through": self.straight_through,
            "noise_scale": self.noise_scale,
            "inference": self.inference,
            "logit_scale": self.logit_scale,
            "logits_initializer": keras.initializers.serialize(self.logits_initializer),
            "seed": self.seed,
        }

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), **self.cluster_config()}


ARGUMENTS = (
    "temperature",
    "straight_through",
    "noise_scale",
    "inference",
    "logit_scale",
    "logits_initializer",
    "seed",
)


def split_arguments(kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits keyword arguments into those of the clusters and those of the layer around them.

    >>> split_arguments({"temperature": 0.5, "name": "words"})
    ({'temperature': 0.5}, {'name': 'words'})
    """
    clusters = {key: value for key, value in kwargs.items() if key in ARGUMENTS}
    return clusters, {key: value for key, value in kwargs.items() if key not in clusters}


def clusters_of(
    layer: CompactEmbedding, input_dim: int, output_dim: int, num_clusters: int, **arguments: Any
) -> ClusterEmbedding:
    """Makes the clusters inside a layer: its dtype, arguments for vectors, frozen if it is."""
    return ClusterEmbedding(
        input_dim,
        output_dim,
        num_clusters,
        embeddings_initializer=layer.embeddings_initializer,
        embeddings_regularizer=layer.embeddings_regularizer,
        embeddings_constraint=layer.embeddings_constraint,
        dtype=layer.dtype_policy,
        trainable=layer.trainable,
        name="clusters",
        **arguments,
    )
