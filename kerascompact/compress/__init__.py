"""Post-training compressors: a trained table in, a stored form out; no training."""

from kerascompact.compress.base import Compressor
from kerascompact.compress.clusters import KMeansClusters
from kerascompact.compress.scalar import ScalarQuantization

__all__ = ["Compressor", "KMeansClusters", "ScalarQuantization"]
