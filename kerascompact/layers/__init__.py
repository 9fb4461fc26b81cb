"""Public layers, one line per method."""

from kerascompact.layers.embeddings.cluster import ClusterEmbedding
from kerascompact.layers.embeddings.cluster_adjustment import ClusterAdjustmentEmbedding
from kerascompact.layers.embeddings.mixture import MixtureEmbedding
from kerascompact.layers.masked_mean import MaskedMean

__all__ = ["ClusterAdjustmentEmbedding", "ClusterEmbedding", "MaskedMean", "MixtureEmbedding"]
