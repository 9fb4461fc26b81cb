"""Cluster adjustment embeddings (CAE): a cluster's vector and a short vector of the word."""

from typing import Any

import numpy as np
import tensorflow as tf

from kerascompact.core import checks
from kerascompact.core.registration import register
from kerascompact.forms.composed import ConcatForm
from kerascompact.forms.dense import DenseForm
from kerascompact.layers.embeddings.base import CompactEmbedding
from kerascompact.layers.embeddings.cluster import clusters_of, split_arguments


@register
class ClusterAdjustmentEmbedding(CompactEmbedding):
    """Looks up the vector of a word's cluster, and appends a short vector of the word.

    `e_i = [W^T t_i; u_i]`, with `t_i` as in `ClusterEmbedding`, `W: (k, d - b)` and `u: (V, b)`.

    Args:
        input_dim: Vocabulary size `V`, in tokens.
        output_dim: Width `d` of the entire vector: the paper's `m` plus `adjustment_dim`.
        num_clusters: Number of clusters `k`, `2 <= k <= V`.
        adjustment_dim: Width `b` of the word's vector, `1 <= b < d`; the paper uses 1.
        **kwargs: Arguments of `ClusterEmbedding`.

    Shapes: ids `(...)`, integers in `[0, V)` -> vectors `(..., d)`.
    Storage: `V ceil(log2 k) + 32 k (d - b) + 32 V b` bits once frozen, the paper's formula.
    Raises: ValueError, if `b` is not in `[1, d - 1]` or another argument is wrong.
    Example:
    >>> layer = ClusterAdjustmentEmbedding(10_000, 17, num_clusters=50)
    >>> layer(np.array([[3, 7]])).shape
    TensorShape([1, 2, 17])

    Reference: [Chen & Gimpel, NAACL 2018](https://aclanthology.org/N18-2116), sec. 3 "Cluster
    Adjustment Embeddings".
    """

    EXAMPLE = dict(input_dim=20, output_dim=5, num_clusters=5)
    UNCONSTRAINED = "its vectors are made of two parts, in two weights"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        num_clusters: int,
        *,
        adjustment_dim: int = 1,
        **kwargs: Any,
    ) -> None:
        of_clusters, of_layer = split_arguments(kwargs)
        super().__init__(input_dim, output_dim, **of_layer)
        checks.integer_in("output_dim", output_dim, 2)
        self.adjustment_dim = checks.integer_in(
            "adjustment_dim", adjustment_dim, 1, self.output_dim - 1
        )
        width = self.output_dim - self.adjustment_dim
        self.clusters = clusters_of(self, self.input_dim, width, num_clusters, **of_clusters)

    def build(self, input_shape: Any = None) -> None:
        start, own = self.take_start(), None
        if start is not None:
            self.clusters.start_table, own = np.split(start, [self.clusters.output_dim], axis=1)
        self.clusters.build(input_shape)
        shape = (self.input_dim, self.adjustment_dim)
        self.adjustment = self.add_vectors("adjustment", shape, own)

    def lookup(self, ids: tf.Tensor, training: bool | None) -> tf.Tensor:
        own = tf.gather(self.adjustment.value, ids)
        return tf.concat([self.clusters.lookup(ids, training), own], axis=-1)

    def output_rows(self, ids: tf.Tensor) -> tf.Tensor:
        own = tf.gather(self.adjustment.value, ids)
        return tf.concat([self.clusters.output_rows(ids), own], axis=-1)

    def assignments(self) -> np.ndarray:
        """The cluster of every word, `(V,)` in `[0, k)`."""
        return self.clusters.assignments()

    def to_form(self) -> ConcatForm:
        self.check_built()
        own = DenseForm.from_arrays(
            {"table": checks.finite("adjustment", self.adjustment.numpy())},
            input_dim=self.input_dim,
            output_dim=self.adjustment_dim,
            name="adjustment",
        )
        parts = [self.clusters.to_form(), own]
        form = ConcatForm(self.input_dim, self.output_dim, parts, **self.form_config())
        form.build()
        return form

    def paper_bits(self) -> int:
        return self.clusters.paper_bits() + 32 * self.input_dim * self.adjustment_dim

    def get_config(self) -> dict[str, Any]:
        own = {"adjustment_dim": self.adjustment_dim}
        return {**super().get_config(), **self.clusters.cluster_config(), **own}
