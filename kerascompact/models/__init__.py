"""Models of the papers: functions that take an embedding *instance* and return a `keras.Model`."""

from kerascompact.models.graph_network import graph_network
from kerascompact.models.language_model import SIZES, ZarembaSize, language_model
from kerascompact.models.lstm_classifier import lstm_classifier
from kerascompact.models.matrix_factorization import matrix_factorization
from kerascompact.models.mean_classifier import mean_classifier
from kerascompact.models.text_cnn import text_cnn

__all__ = [
    "SIZES",
    "ZarembaSize",
    "graph_network",
    "language_model",
    "lstm_classifier",
    "matrix_factorization",
    "mean_classifier",
    "text_cnn",
]
