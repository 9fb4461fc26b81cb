"""What goes beside a layer in training: losses, schedules, callbacks, what was learned."""

from kerascompact.training.callbacks import ResetStates, TemperatureAnnealing
from kerascompact.training.code_statistics import CodeStatistics
from kerascompact.training.inspection import plot_clusters, words_per_cluster, words_per_code
from kerascompact.training.losses import SampledSoftmaxCrossEntropy, SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity
from kerascompact.training.schedules import EpochDecay, GeometricDecay
from kerascompact.training.soft import soft_copy

__all__ = [
    "CodeStatistics",
    "EpochDecay",
    "GeometricDecay",
    "Perplexity",
    "ResetStates",
    "SampledSoftmaxCrossEntropy",
    "SparseSoftmaxCrossEntropy",
    "TemperatureAnnealing",
    "plot_clusters",
    "soft_copy",
    "words_per_cluster",
    "words_per_code",
]
