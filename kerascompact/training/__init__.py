"""What goes beside a layer in training: schedules, callbacks, and a look at what was learned."""

from kerascompact.training.callbacks import ResetStates, TemperatureAnnealing
from kerascompact.training.inspection import plot_clusters, words_per_cluster
from kerascompact.training.schedules import EpochDecay, GeometricDecay
from kerascompact.training.soft import soft_copy

__all__ = [
    "EpochDecay",
    "GeometricDecay",
    "ResetStates",
    "TemperatureAnnealing",
    "plot_clusters",
    "soft_copy",
    "words_per_cluster",
]
