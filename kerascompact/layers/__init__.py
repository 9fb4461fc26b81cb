"""Public layers, one line per method."""

from kerascompact.layers.embeddings.cluster import ClusterEmbedding
from kerascompact.layers.embeddings.cluster_adjustment import ClusterAdjustmentEmbedding
from kerascompact.layers.embeddings.guidance import OnlineGuidance, PretrainedGuidance
from kerascompact.layers.embeddings.kd_code import KDCodeEmbedding
from kerascompact.layers.embeddings.mixture import MixtureEmbedding
from kerascompact.layers.masked_mean import MaskedMean

__all__ = [
    "ClusterAdjustmentEmbedding",
    "ClusterEmbedding",
    "KDCodeEmbedding",
    "MaskedMean",
    "MixtureEmbedding",
    "OnlineGuidance",
    "PretrainedGuidance",
]
