"""Mixture embeddings (ME): frequent words have their own vectors, the others share clusters."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.composed import SplitForm, rows_of_the_batch, split_ids
from kerascompact.forms.dense import DenseForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.cluster import clusters_of, split_arguments


@register
class MixtureEmbedding(CompactEmbedding):
    """Looks up the own vector of a frequent word, and the cluster's vector of any other word.

    `e_i = U[rank(i)]` for the `u` most frequent words; `e_i = W^T t_i` as in `ClusterEmbedding`
    for the other `V - u`. Ids must be ordered by frequency, the most frequent word first, as
    `kerascompact.text.Vocabulary` orders them.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Embedding width `d` (the paper's `m`).
        num_clusters: Number of clusters `k`, `2 <= k <= V - u`.
        num_unique: Number of words with a vector of their own `u`, `1 <= u <= V - k`.
        num_reserved: Leading ids `r` that are no words (padding, unknown) and use clusters;
            2 for a `Vocabulary`. The unique words are the ids `r ... r + u - 1`.
        **kwargs: Arguments of `ClusterEmbedding`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `(V - u) ceil(log2 k) + 32 d (k + u)` bits once frozen, the paper's formula.
    Raises: ValueError, if `u` leaves fewer than `k` words to cluster, or an argument is wrong.
    Example:
    >>> layer = MixtureEmbedding(10_000, 16, num_clusters=50, num_unique=300, num_reserved=2)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 16])

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), sec. 3 "Mixture
    Embeddings".
    """

    EXAMPLE = dict(input_dim=20, output_dim=4, num_clusters=5, num_unique=6)

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_clusters: int,
        num_unique: int,
        *,
        num_reserved: int = 0,
        **kwargs: Any,
    ) -> None:
        of_clusters, of_layer = split_arguments(kwargs)
        super().__init__(input_dim, output_dim, **of_layer)
        checks.integer_in("input_dim", self.input_dim, 3)  # two clusters and a word of its own
        checks.integer_in("num_clusters", num_clusters, 2, self.input_dim - 1)
        most = self.input_dim - num_clusters
        self.num_unique = checks.integer_in("num_unique", num_unique, 1, most)
        rest = self.input_dim - self.num_unique
        self.num_reserved = checks.integer_in("num_reserved", num_reserved, 0, rest)
        self.clusters = clusters_of(self, rest, self.output_dim, num_clusters, **of_clusters)

    def build(self, input_shape: Any = None) -> None:
        start, own = self.take_start(), None
        if start is not None:
            places = self.num_reserved + np.arange(self.num_unique)
            own, self.clusters.start_table = start[places], np.delete(start, places, axis=0)
        self.clusters.build(input_shape)
        self.unique = self.add_vectors("unique", (self.num_unique, self.output_dim), own)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        return self._choose(ids, lambda rest: self.clusters.lookup(rest, training))

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        return self._choose(ids, self.clusters.output_rows)

    def _choose(self, ids: tf.Tensor, of_cluster: Callable[[tf.Tensor], tf.Tensor]) -> tf.Tensor:
        is_unique, unique_ids, cluster_ids = split_ids(ids, self.num_unique, self.num_reserved)
        unique_ids = rows_of_the_batch(unique_ids, is_unique)
        cluster_ids = rows_of_the_batch(cluster_ids, tf.logical_not(is_unique))
        own = tf.gather(self.unique.value, unique_ids)
        return tf.where(tf.expand_dims(is_unique, -1), own, of_cluster(cluster_ids))

    def assignments(self) -> np.ndarray:
        """The cluster of every word, `(V,)` in `[0, k)`; -1 for words with their own vector."""
        own = np.full(self.num_unique, -1)
        return np.insert(self.clusters.assignments(), self.num_reserved, own)

    def to_form(self) -> SplitForm:
        self.check_built()
        own = DenseForm.from_arrays(
            {"table": checks.finite("unique", self.unique.numpy())},
            input_dim=self.num_unique,
            output_dim=self.output_dim,
            name="unique",
        )
        form = SplitForm(
            self.input_dim,
            self.output_dim,
            [own, self.clusters.to_form()],
            num_reserved=self.num_reserved,
            **self.form_config(),
        )
        form.build()
        return form

    def paper_bits(self) -> int:
        return self.clusters.paper_bits() + 32 * self.num_unique * self.output_dim

    def get_config(self) -> dict[str, Any]:
        own = {"num_unique": self.num_unique, "num_reserved": self.num_reserved}
        return {**super().get_config(), **self.clusters.cluster_config(), **own}
