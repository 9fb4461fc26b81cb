"""Losses, schedules and callbacks for training, and tools to inspect what was learned."""

from kerascompact.training.anchors import (
    largest_pairs,
    plot_pattern,
    row_statistics,
    words_of_anchors,
)
from kerascompact.training.annealing import NoiseAnnealing, TemperatureAnnealing
from kerascompact.training.backup import Backup
from kerascompact.training.callbacks import CatchUp, ResetStates
from kerascompact.training.code_statistics import CodeStatistics
from kerascompact.training.distiller import Distiller, LabelAccuracy
from kerascompact.training.inspection import plot_clusters, words_per_cluster, words_per_code
from kerascompact.training.losses import SampledSoftmaxCrossEntropy, SparseSoftmaxCrossEntropy
from kerascompact.training.metrics import Perplexity
from kerascompact.training.neighbours import NearestWords
from kerascompact.training.noise_contrastive import NoiseContrastiveEstimation
from kerascompact.training.nt_asgd import NTASGD
from kerascompact.training.pruning import MagnitudePruning
from kerascompact.training.random_steps import RandomSteps
from kerascompact.training.schedules import EpochDecay, GeometricDecay
from kerascompact.training.scores import METRICS, default_metric, is_multi_label, score
from kerascompact.training.several_machines import MultiWorkerStrategy
from kerascompact.training.soft import soft_copy
from kerascompact.training.vocabulary_choice import choose_words

__all__ = [
    "Backup",
    "CatchUp",
    "CodeStatistics",
    "Distiller",
    "EpochDecay",
    "GeometricDecay",
    "LabelAccuracy",
    "METRICS",
    "MagnitudePruning",
    "MultiWorkerStrategy",
    "NearestWords",
    "NoiseAnnealing",
    "NoiseContrastiveEstimation",
    "NTASGD",
    "Perplexity",
    "RandomSteps",
    "ResetStates",
    "SampledSoftmaxCrossEntropy",
    "SparseSoftmaxCrossEntropy",
    "TemperatureAnnealing",
    "choose_words",
    "default_metric",
    "is_multi_label",
    "largest_pairs",
    "plot_clusters",
    "plot_pattern",
    "row_statistics",
    "score",
    "soft_copy",
    "words_of_anchors",
    "words_per_cluster",
    "words_per_code",
]
